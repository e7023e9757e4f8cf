import { useMediaQuery } from "@mantine/hooks";

/** The quote is below the choice: then its price and its button follow at the bottom of the screen. */
export const useNarrow = (): boolean => useMediaQuery("(max-width: 62em)", false, { getInitialValueInEffect: false });
