import { NumberInput, Slider, Text } from "@mantine/core";
import "@mantine/core/styles/Slider.layer.css";
import "@mantine/core/styles/NumberInput.layer.css";
import { Icon, type IconName } from "@/components/icon";
import classes from "@/features/lease/resize.module.css";

type ResizeSliderProps = {
  name: string;
  icon: IconName;
  value: number;
  max: number;
  step: number;
  /** Where it stands now. */
  before: number;
  format: (value: number) => string;
  input: { label: string; factor: number; decimals: number; suffix: string };
  onChange: (value: number) => void;
};

/** One half of the new size, by slider or by number. */
export function ResizeSlider({ name, icon, value, max, step, before, format, input, onChange }: ResizeSliderProps) {
  return (
    <div className={classes.row}>
      <Text className={classes.name}>
        <Icon name={icon} /> {name}
      </Text>
      <Slider
        className={classes.slider}
        value={value}
        min={0}
        max={max}
        step={step}
        onChange={(moved) => onChange(Math.max(1, moved))}
        marks={[{ value: 0, label: "0" }, { value: before, label: format(before) }, { value: max, label: format(max) }].filter(
          // Two labels on one place would hide each other.
          (mark, index, all) => index !== 1 || all.every((other) => other === mark || Math.abs(other.value - mark.value) > max / 6),
        )}
        label={null}
        classNames={{ markLabel: classes.mark }}
        thumbLabel={name}
        thumbValueText={format}
      />
      <NumberInput
        className={classes.number}
        size="sm"
        aria-label={input.label}
        value={Number((value / input.factor).toFixed(input.decimals))}
        onChange={(typed) => {
          const next = typeof typed === "number" ? Math.round(typed * input.factor) : 0;
          if (next >= 1 && next !== value) onChange(next);
        }}
        min={0}
        decimalScale={input.decimals}
        suffix={` ${input.suffix}`}
        allowNegative={false}
        clampBehavior="none"
        hideControls
      />
    </div>
  );
}
