import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf, type Schema } from "@/lib/api";
import { keys } from "@/lib/query-keys";

export type Device = Schema<"Device">;

/** The first devices of the fleet: enough to know its classes and to choose one of a small fleet. */
export const firstDevicesQuery = queryOptions({
  queryKey: [...keys.devices, "first"],
  queryFn: async ({ signal }) => {
    const page = await dataOf(api.GET("/api/v1/devices", { params: { query: { limit: 200 } }, signal }));
    return { devices: page.items as Device[], isWhole: page.next === null };
  },
  staleTime: 60_000,
});

export const useFirstDevices = () => useQuery(firstDevicesQuery);

/** One device; null asks for none. */
export const useDevice = (id: string | null) =>
  useQuery({
    queryKey: keys.device(id ?? ""),
    queryFn: ({ signal }) =>
      dataOf(api.GET("/api/v1/devices/{device}", { params: { path: { device: id ?? "" } }, signal })),
    enabled: id !== null,
    staleTime: 60_000,
    retry: false,
  });
