import { useSyncExternalStore } from "react";
import { useAccount } from "@/hooks/use-account";
import { signal } from "@/lib/signal";
import { readStored, writeStored } from "@/lib/stored";
import { browserZone, isZone } from "@/lib/time";

/** Whose clock the times on screen follow. */
export const ZONE_MODES = ["browser", "utc", "account"] as const;
export type ZoneMode = (typeof ZONE_MODES)[number];

const kept = readStored("zone");
const chosen = signal<ZoneMode>(ZONE_MODES.find((mode) => mode === kept) ?? "browser");

export type Zone = {
  /** An IANA name, such as Europe/Berlin. */
  zone: string;
  mode: ZoneMode;
  setMode: (mode: ZoneMode) => void;
  /** The zone behind each mode; the account's is absent until known. */
  zones: Partial<Record<ZoneMode, string>>;
};

export function setZoneMode(mode: ZoneMode): void {
  writeStored("zone", mode);
  chosen.set(mode);
}

export function useZone(): Zone {
  const mode = useSyncExternalStore(chosen.subscribe, chosen.get);
  const account = useAccount()?.zone;
  const zones: Zone["zones"] = { browser: browserZone(), utc: "UTC" };
  if (account !== undefined && isZone(account)) zones.account = account;
  return { zone: zones[mode] ?? browserZone(), mode, setMode: setZoneMode, zones };
}
