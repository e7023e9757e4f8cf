/** The map's two canvases: what is true is told to it, and it draws in the next frame what that changed. */
import { fit, held, type Camera, type Size } from "@/features/fleet/camera";
import { changedCells } from "@/features/fleet/changes";
import type { Rect } from "@/features/fleet/layout";
import { paintAll, paintCells, paintMarks, type Scene } from "@/features/fleet/paint";

export type Marks = { cursor: number | null; hover: number | null; chosen: ReadonlySet<number> };

const NO_MARKS: Marks = { cursor: null, hover: null, chosen: new Set() };

/** A hatched node is drawn whole: its lines run over its cells. */
const isHatched = (scene: Scene, device: number) =>
  scene.fleet.nodes[scene.fleet.devices.node[device] ?? -1]?.cordoned === true;

export class MapPainter {
  private base: HTMLCanvasElement | null = null;
  private over: HTMLCanvasElement | null = null;
  private scene: Scene | null = null;
  private drawn: Scene | null = null;
  private marks = NO_MARKS;
  private size: Size = { w: 0, h: 0 };
  private view: Camera | null = null;
  private frame = 0;
  private everything = true;

  attach(base: HTMLCanvasElement, over: HTMLCanvasElement): void {
    this.base = base;
    this.over = over;
    this.ask(true);
  }

  detach(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.base = null;
    this.over = null;
  }

  resize(size: Size, ratio: number): void {
    this.size = size;
    for (const canvas of [this.base, this.over]) {
      if (!canvas || size.w === 0) continue;
      canvas.width = Math.round(size.w * ratio);
      canvas.height = Math.round(size.h * ratio);
      canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    if (this.view) this.view = held(this.view, this.world(), size);
    this.ask(true);
  }

  show(scene: Scene): void {
    // Another arrangement of the racks, such as one more of them, is shown whole.
    if (this.scene?.layout !== scene.layout) this.view = null;
    this.scene = scene;
    this.ask(false);
  }

  mark(marks: Marks): void {
    this.marks = marks;
    this.ask(false);
  }

  window(): Size {
    return this.size;
  }

  camera(): Camera {
    this.view ??= fit(this.whole(), this.size);
    return this.view;
  }

  move(next: (camera: Camera) => Camera): void {
    this.view = held(next(this.camera()), this.world(), this.size);
    this.ask(true);
  }

  showRect(rect: Rect, most?: number): void {
    this.view = fit(rect, this.size, most);
    this.ask(true);
  }

  fitAll(): void {
    this.showRect(this.whole());
  }

  world(): Size {
    return { w: this.scene?.layout.w ?? 1, h: this.scene?.layout.h ?? 1 };
  }

  private whole(): Rect {
    return { x: 0, y: 0, ...this.world() };
  }

  private ask(everything: boolean): void {
    this.everything ||= everything;
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame = 0;
    const base = this.base?.getContext("2d");
    const over = this.over?.getContext("2d");
    if (!base || !over || !this.scene || this.size.w === 0) return;
    const { scene, size } = this;
    const changed = this.everything ? null : changedCells(this.drawn, scene);
    if (changed === null || changed.some((device) => isHatched(scene, device))) paintAll(base, scene, this.camera(), size);
    else paintCells(base, scene, this.camera(), size, changed);
    paintMarks(over, scene, this.camera(), size, this.marks);
    this.drawn = scene;
    this.everything = false;
  }
}
