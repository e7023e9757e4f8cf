import "@mantine/notifications/styles.layer.css";
import { Notifications } from "@mantine/notifications";

/** Where `notifications.show(...)` shows. Fetched after the first picture: nothing is told before. */
export function Notes() {
  return <Notifications position="bottom-right" limit={4} transitionDuration={100} />;
}
