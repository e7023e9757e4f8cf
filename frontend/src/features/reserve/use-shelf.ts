import { classesOf, type DeviceClass } from "@/features/reserve/shelf";
import { useDevice, useFirstDevices, type Device } from "@/hooks/use-devices";
import { useOffers } from "@/hooks/use-offers";

export type ShelfState = {
  classes: DeviceClass[];
  devices: Device[];
  /** The device that the address names, once known. */
  device: Device | undefined;
  isLoading: boolean;
  problem: unknown;
  retry: () => void;
};

/** What there is to choose from. `device` may be one of a large fleet. */
export function useShelf(device: string | undefined): ShelfState {
  const offers = useOffers();
  const first = useFirstDevices();
  const devices = first.data?.devices ?? [];
  const listed = devices.find((one) => one.id === device);
  const other = useDevice(device !== undefined && first.isSuccess && !listed ? device : null);
  return {
    classes: classesOf({ offers: offers.data ?? [], devices }),
    devices,
    device: listed ?? (other.data?.id === device ? other.data : undefined),
    isLoading: offers.isPending || first.isPending || other.isLoading,
    problem: offers.error ?? first.error,
    retry: () => {
      void offers.refetch();
      void first.refetch();
    },
  };
}
