import { describe, expect, it } from "vitest";
import { draw, NOTHING, spanOfDrawing, type DrawAction, type DrawState } from "./drawing";

const TEN = Date.parse("2026-11-30T10:00:00Z");
const slot = (quarters: number) => TEN + quarters * 900_000;
const after = (...actions: DrawAction[]): DrawState => actions.reduce(draw, NOTHING);

describe("drawing a period", () => {
  it("by dragging, in either direction", () => {
    const { chosen } = after({ type: "drag", device: "a", anchor: slot(3), head: slot(0) }, { type: "drop" });
    expect(chosen).toEqual({ device: "a", from: slot(0), to: slot(4) });
  });

  it("by two clicks in a row; a click in another row begins anew", () => {
    const begun = after({ type: "click", device: "a", slot: slot(0) }, { type: "hover", device: "a", slot: slot(7) });
    expect(begun.chosen).toBeNull();
    expect(begun.drawing && spanOfDrawing(begun.drawing)).toEqual({ from: slot(0), to: slot(8) });
    expect(draw(begun, { type: "click", device: "a", slot: slot(3) }).chosen).toEqual({
      device: "a",
      from: slot(0),
      to: slot(4),
    });
    expect(draw(begun, { type: "click", device: "b", slot: slot(3) }).drawing?.device).toBe("b");
  });

  it("by keys: arrows move, with Shift they extend from where they stood", () => {
    const { drawing } = after(
      { type: "key", device: "a", slot: slot(0), extend: false },
      { type: "key", device: "a", slot: slot(1), extend: false },
      { type: "key", device: "a", slot: slot(2), extend: true },
      { type: "key", device: "a", slot: slot(3), extend: true },
    );
    expect(drawing && spanOfDrawing(drawing)).toEqual({ from: slot(1), to: slot(4) });
  });

  it("takes back one step at a time", () => {
    const chosen = { device: "a", from: slot(0), to: slot(4) };
    const drawing = after({ type: "choose", chosen }, { type: "key", device: "b", slot: slot(1), extend: false });
    expect(draw(drawing, { type: "cancel" })).toEqual({ ...NOTHING, chosen });
    expect(draw(draw(drawing, { type: "cancel" }), { type: "cancel" })).toEqual(NOTHING);
  });
});
