import { createContext } from "react";
import type { LiveClient } from "@/lib/live";

/** The tab's socket; null outside the shell. */
export const LiveContext = createContext<LiveClient | null>(null);
