import { describe, expect, test } from "vitest";
import { endOf, endSearch, nextQuarter, periodOf } from "@/features/reserve/period";
import { ignoredOf, keyOf, parseReserveSearch } from "@/features/reserve/search";
import { terminalLines } from "@/features/reserve/terminal";
import { choiceOf, wishOf, withSize } from "@/features/reserve/wish";
import { makeOffer, OFFER } from "@/test/make-shelf";

const NOW = Date.parse("2026-11-29T12:00:00.400Z");
const PROJECT = "prj_1";

describe("a link carries the choice", () => {
  test("what is understood is read, what is not is named", () => {
    const raw = {
      memory_mib: 4096,
      share_permille: "250",
      starts_at: "2026-12-01T14:00:00+01:00",
      ends_at: "tomorrow",
      device: "dev_01K",
      name: 12,
    };
    expect(parseReserveSearch(raw)).toEqual({
      memory_mib: 4096,
      share_permille: 250,
      starts_at: "2026-12-01T13:00:00Z",
      name: "12",
    });
    expect(ignoredOf(raw)).toEqual(["device", "ends_at"]);
  });

  test("absurd numbers are left out", () => {
    expect(parseReserveSearch({ memory_mib: -1, share_permille: 1001, for_s: 1.5 })).toEqual({});
    expect(parseReserveSearch({ memory_mib: 1e300, share_permille: "x" })).toEqual({});
  });

  test("a name is cut at 200 characters, not inside one", () => {
    const name = "😀".repeat(201);
    expect([...(parseReserveSearch({ name }).name ?? "")]).toHaveLength(200);
  });

  test("the order of parameters makes no other choice", () => {
    expect(keyOf({ memory_mib: 1, share_permille: 2, offer: undefined })).toBe(keyOf({ share_permille: 2, memory_mib: 1 }));
  });
});

describe("the period", () => {
  test("now for four hours ends four hours from the server's now, on a whole second", () => {
    expect(periodOf({ for_s: 14_400 }, NOW)).toEqual({ starts_at: null, ends_at: "2026-11-29T16:00:01Z" });
  });

  test("a later start keeps its length; an end of its own wins; no end is null", () => {
    const starts_at = "2026-12-01T13:00:00Z";
    expect(periodOf({ starts_at, for_s: 3600 }, NOW).ends_at).toBe("2026-12-01T14:00:00Z");
    expect(periodOf({ starts_at, ends_at: "2026-12-02T00:00:00Z", for_s: 3600 }, NOW).ends_at).toBe("2026-12-02T00:00:00Z");
    expect(periodOf({ open_ended: true }, NOW)).toEqual({ starts_at: null, ends_at: null });
  });

  test("without a word it is an hour, never without an end", () => {
    expect(endOf({})).toEqual({ kind: "for", seconds: 3600 });
  });

  test("one end replaces another", () => {
    const search = { ends_at: "2026-12-02T00:00:00Z", ...endSearch({ kind: "open" }) };
    expect(endOf(search)).toEqual({ kind: "open" });
  });

  test("a time to begin with is the next quarter of an hour", () => {
    expect(nextQuarter(NOW)).toBe("2026-11-29T12:15:00Z");
    expect(nextQuarter(Date.parse("2026-11-29T12:15:00Z"))).toBe("2026-11-29T12:30:00Z");
  });
});

describe("the wish", () => {
  test("an offer fixes the size; moving away from it keeps its class", () => {
    const offer = makeOffer();
    const choice = choiceOf({ offer: OFFER, for_s: 3600 }, PROJECT);
    expect(choice && wishOf(choice, NOW)).toMatchObject({ offer: OFFER, project: PROJECT });
    expect(choice && wishOf(choice, NOW)).not.toHaveProperty("slice");
    const moved = withSize({ offer: OFFER }, { memory_mib: 1, share_permille: 2 }, offer);
    expect(moved).toMatchObject({ memory_mib: 1, share_permille: 2, device_kind: "opencl", offer: undefined });
  });

  test("nobody to account it to, or half a size, is no choice yet", () => {
    expect(choiceOf({ offer: OFFER }, null)).toBeNull();
    expect(choiceOf({ memory_mib: 1 }, PROJECT)).toBeNull();
  });
});

describe("the same from a terminal", () => {
  const lines = (search: Parameters<typeof choiceOf>[0]) => {
    const choice = choiceOf(search, PROJECT);
    if (!choice) throw new Error("no choice");
    return terminalLines({ choice, wish: wishOf(choice, NOW), name: search.name ?? "" });
  };

  test("a size, a start and a length", () => {
    const starts_at = "2026-12-01T13:00:00Z";
    const search = { memory_mib: 12_288, share_permille: 125, device_kind: "opencl", starts_at, for_s: 5400 };
    expect(lines(search).vxpu).toBe(
      "vxpu reserve create -m 12GiB -c 12.5% --kind opencl -p prj_1 --start 2026-12-01T13:00:00Z --for 90m",
    );
    expect(lines({ offer: OFFER, open_ended: true }).vxpu).toBe(`vxpu reserve create --offer ${OFFER} -p prj_1`);
  });

  test("a name cannot break out of its quotes", () => {
    const { vxpu, curl } = lines({ offer: OFFER, open_ended: true, name: "it's; rm -rf $HOME" });
    expect(vxpu).toContain(`"name":"it'\\''s; rm -rf $HOME"}'`);
    expect(curl).toContain(`"name":"it'\\''s; rm -rf $HOME"}'`);
  });
});
