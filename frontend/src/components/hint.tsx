import { Tooltip } from "@mantine/core";
import type { ReactNode } from "react";

type HintProps = { text: ReactNode; children: ReactNode };

/** Something with a word of explanation, for a pointer, a finger and the keyboard alike. */
export function Hint({ text, children }: HintProps) {
  return (
    <Tooltip label={text}>
      {/* A hint that only a mouse can reach would be lost on a keyboard.
          eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <span tabIndex={0}>{children}</span>
    </Tooltip>
  );
}
