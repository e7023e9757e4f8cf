/** Which part of the world the window shows. Sizes of the window are CSS pixels. */
import type { Rect } from "@/features/fleet/layout";

/** `x`, `y`: the world's point at the window's corner. `scale`: pixels for a unit. */
export type Camera = { x: number; y: number; scale: number };
export type Size = { w: number; h: number };

const MOST = 24;
const MARGIN = 12;

const fittingScale = (rect: Rect, window: Size, most: number) =>
  Math.min(most, (window.w - 2 * MARGIN) / rect.w, (window.h - 2 * MARGIN) / rect.h);

/** The whole rectangle in the middle of the window. */
export function fit(rect: Rect, window: Size, most = 3): Camera {
  const scale = Math.max(0.01, fittingScale(rect, window, most));
  return { scale, x: rect.x + rect.w / 2 - window.w / 2 / scale, y: rect.y + rect.h / 2 - window.h / 2 / scale };
}

const least = (world: Size, window: Size) => Math.min(1, fittingScale({ x: 0, y: 0, ...world }, window, MOST)) * 0.75;

/** The camera held so that the world cannot be lost out of sight. */
export function held(camera: Camera, world: Size, window: Size): Camera {
  const scale = Math.min(MOST, Math.max(least(world, window), camera.scale));
  const slackX = (window.w / scale) * 0.6;
  const slackY = (window.h / scale) * 0.6;
  const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);
  return {
    scale,
    x: clamp(camera.x, -slackX, world.w - window.w / scale + slackX),
    y: clamp(camera.y, -slackY, world.h - window.h / scale + slackY),
  };
}

/** Larger or smaller about a point of the window, which stays where it is. */
export function zoomAt(camera: Camera, factor: number, at: { x: number; y: number }, world: Size, window: Size): Camera {
  const scale = Math.min(MOST, Math.max(least(world, window), camera.scale * factor));
  return {
    scale,
    x: camera.x + at.x / camera.scale - at.x / scale,
    y: camera.y + at.y / camera.scale - at.y / scale,
  };
}

export const pan = (camera: Camera, dx: number, dy: number): Camera => ({
  ...camera,
  x: camera.x - dx / camera.scale,
  y: camera.y - dy / camera.scale,
});

/** Moved as little as needed for a rectangle to be in sight. */
export function reveal(camera: Camera, rect: Rect, window: Size): Camera {
  const w = window.w / camera.scale;
  const h = window.h / camera.scale;
  const edge = MARGIN / camera.scale;
  const along = (start: number, size: number, from: number, to: number) =>
    from - edge < start ? from - edge : to + edge > start + size ? to + edge - size : start;
  return { ...camera, x: along(camera.x, w, rect.x, rect.x + rect.w), y: along(camera.y, h, rect.y, rect.y + rect.h) };
}

export const toWorld = (camera: Camera, x: number, y: number) => ({
  x: camera.x + x / camera.scale,
  y: camera.y + y / camera.scale,
});

export const toScreen = (camera: Camera, rect: Rect): Rect => ({
  x: (rect.x - camera.x) * camera.scale,
  y: (rect.y - camera.y) * camera.scale,
  w: rect.w * camera.scale,
  h: rect.h * camera.scale,
});
