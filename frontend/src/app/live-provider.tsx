import { notifications } from "@mantine/notifications";
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { LiveContext } from "@/hooks/live-context";
import { useLiveTopic } from "@/hooks/use-live-topic";
import { api, dataOf } from "@/lib/api";
import { translate } from "@/lib/i18n";
import { LiveClient } from "@/lib/live";
import { keys } from "@/lib/query-keys";
import { sessionEnd } from "@/lib/session-end";

function createClient(queries: QueryClient): LiveClient {
  return new LiveClient({
    ticket: () => dataOf(api.POST("/api/v1/live-tickets")),
    onSessionEnd: () => sessionEnd.set("revoked"),
    onRightsChanged: () => {
      notifications.show({ id: "rights", message: translate("shell.rights_changed"), autoClose: false });
      void queries.invalidateQueries();
    },
  });
}

/** The tab's socket, for everything below. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [client] = useState(() => createClient(queries));
  useEffect(() => {
    client.start();
    return () => client.close();
  }, [client]);
  return (
    <LiveContext value={client}>
      <FreshReservations />
      {children}
    </LiveContext>
  );
}

/** Every page shows reservations somewhere: a change of mine makes each cached answer about them old. */
function FreshReservations() {
  const queries = useQueryClient();
  const refetch = () => void queries.invalidateQueries({ queryKey: keys.allReservations });
  useLiveTopic("reservations", { onDelta: refetch, onGap: refetch });
  return null;
}
