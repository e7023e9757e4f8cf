import { useEffect, useSyncExternalStore } from "react";
import { useAccount } from "@/hooks/use-account";
import { signal } from "@/lib/signal";
import { readStored, writeStored } from "@/lib/stored";
import { browserZone, isZone } from "@/lib/time";

/** Whose clock the times on screen follow. */
export const ZONE_MODES = ["browser", "utc", "account"] as const;
export type ZoneMode = (typeof ZONE_MODES)[number];

export type Zone = {
  /** An IANA name, such as Europe/Berlin. */
  zone: string;
  mode: ZoneMode;
  setMode: (mode: ZoneMode) => void;
  /** The zone behind each mode; the account's is absent until known. */
  zones: Partial<Record<ZoneMode, string>>;
};

const kept = readStored("zone");
// One for the tab: a list has hundreds of times on screen, and none of them asks for the account by itself.
const current = signal<Zone>(zoneOf(ZONE_MODES.find((mode) => mode === kept) ?? "browser", undefined));

function zoneOf(mode: ZoneMode, account: string | undefined): Zone {
  const zones: Zone["zones"] = { browser: browserZone(), utc: "UTC" };
  if (account !== undefined) zones.account = account;
  return { zone: zones[mode] ?? browserZone(), mode, setMode: setZoneMode, zones };
}

export function setZoneMode(mode: ZoneMode): void {
  writeStored("zone", mode);
  current.set(zoneOf(mode, current.get().zones.account));
}

export function useZone(): Zone {
  return useSyncExternalStore(current.subscribe, current.get);
}

/** Keeps the account's zone known; the shell does it once for all. */
export function useAccountZone(): void {
  const account = useAccount()?.zone;
  const zone = account !== undefined && isZone(account) ? account : undefined;
  useEffect(() => {
    if (zone !== current.get().zones.account) current.set(zoneOf(current.get().mode, zone));
  }, [zone]);
}
