import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dominantPermille, isProportional, memoryFor, memoryStep, shareFor, spareOf } from "@/features/reserve/proportion";

const device = fc.integer({ min: 1000, max: 4_000_000 });

describe("memory and compute held together", () => {
  test("a move of either half costs what that half costs, never more", () => {
    fc.assert(
      fc.property(device, fc.integer({ min: 1, max: 1000 }), (deviceMib, share) => {
        const size = { memory_mib: memoryFor(share, deviceMib), share_permille: share };
        expect(dominantPermille(size, deviceMib)).toBe(share);
        expect(isProportional(size, deviceMib)).toBe(true);
      }),
    );
    fc.assert(
      fc.property(device, fc.integer({ min: 1, max: 1_000_000 }), (deviceMib, part) => {
        const memory = Math.max(1, Math.floor((part * deviceMib) / 1_000_000));
        const size = { memory_mib: memory, share_permille: shareFor(memory, deviceMib) };
        expect(dominantPermille(size, deviceMib)).toBe(shareFor(memory, deviceMib));
      }),
    );
  });

  test("what is offered for nothing costs nothing", () => {
    const size = { memory_mib: 8192, share_permille: 250 };
    expect(spareOf(size, 16_384)).toEqual({ part: "compute", share_permille: 500 });
    expect(spareOf({ memory_mib: 1024, share_permille: 500 }, 16_384)).toEqual({ part: "memory", memory_mib: 8192 });
    expect(spareOf({ memory_mib: 4096, share_permille: 250 }, 16_384)).toBeNull();
    // A device of which less compute is sold.
    expect(spareOf(size, 16_384, 375)).toEqual({ part: "compute", share_permille: 375 });
    expect(spareOf({ memory_mib: 16_384, share_permille: 375 }, 16_384, 375)).toBeNull();
    expect(dominantPermille({ memory_mib: 8192, share_permille: 500 }, 16_384)).toBe(dominantPermille(size, 16_384));
  });

  test("the slider's step is a round size", () => {
    expect(memoryStep(16_384)).toBe(128);
    expect(memoryStep(142_336)).toBe(1024);
    expect(memoryStep(100)).toBe(1);
  });
});
