import { NumberInput, Slider, Text } from "@mantine/core";
import type { KeyboardEvent } from "react";
import { Icon, type IconName } from "@/components/icon";
import classes from "@/features/reserve/reserve.module.css";

type SizeSliderProps = {
  name: string;
  icon: IconName;
  /** In the slider's own whole unit. */
  value: number;
  max: number;
  step: number;
  /** Where eighths of the device lie; Page Up and Page Down go from one to the next. */
  stops: { value: number; label: string }[];
  format: (value: number) => string;
  /** The number field beside it, in the unit that people write. */
  input: { label: string; unit: string; factor: number; decimals: number; step: number };
  onChange: (value: number) => void;
};

/** A slider and a number field for one half of a slice; a click on the track, the keyboard and typing all do. */
export function SizeSlider({ name, icon, value, max, step, stops, format, input, onChange }: SizeSliderProps) {
  const jump = (event: KeyboardEvent) => {
    const up = stops.find((stop) => stop.value > value);
    const down = stops.findLast((stop) => stop.value < value);
    const next = event.key === "PageUp" ? up : event.key === "PageDown" ? down : undefined;
    if (!next) return;
    event.preventDefault();
    onChange(next.value);
  };
  return (
    <div className={classes.size}>
      <Text className={classes.sizeName}>
        <Icon name={icon} /> {name}
      </Text>
      <Slider
        className={classes.slider}
        value={value}
        min={1}
        max={Math.max(max, value)}
        domain={[0, Math.max(max, value)]}
        step={step}
        onChange={(moved) => onChange(snapped(moved, step, max, stops))}
        marks={value > max ? [] : stops.map((stop) => ({ value: stop.value, label: stop.label }))}
        label={null}
        thumbLabel={name}
        thumbProps={{ onKeyDown: jump }}
        thumbValueText={format}
      />
      <NumberInput
        className={classes.sizeInput}
        aria-label={input.label}
        value={Number((value / input.factor).toFixed(input.decimals))}
        onChange={(typed) => {
          const next = typeof typed === "number" ? Math.round(typed * input.factor) : 0;
          if (next >= 1 && next !== value) onChange(next);
        }}
        min={0}
        step={input.step}
        decimalScale={input.decimals}
        suffix={` ${input.unit}`}
        allowNegative={false}
        clampBehavior="none"
        hideControls
      />
    </div>
  );
}

/** The slider's own grid begins at 1: its stops are moved onto round sizes and onto the eighths near them. */
function snapped(moved: number, step: number, max: number, stops: SizeSliderProps["stops"]): number {
  if (moved >= max) return max;
  const stop = stops.find((one) => Math.abs(one.value - moved) <= step / 2);
  return stop?.value ?? Math.min(max, Math.max(1, Math.round(moved / step) * step));
}
