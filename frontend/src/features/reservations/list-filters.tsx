import { Select } from "@mantine/core";
import { useMe } from "@/hooks/use-me";
import { useSearchText } from "@/hooks/use-search-text";
import { useT } from "@/lib/i18n";
import type { ReservationState } from "@/lib/reservation";

/** The states that a reservation is found in nowadays, in the order of its life. */
const STATES: ReservationState[] = ["queued", "confirmed", "activating", "active", "suspended", "moving", "ending", "completed", "cancelled", "expired", "failed"];

/** State and project, kept in the address so that the view can be sent to a colleague. */
export function ListFilters() {
  const t = useT();
  const { projects } = useMe();
  const [state, setState] = useSearchText("state");
  const [project, setProject] = useSearchText("project");
  return (
    <>
      <Select
        size="xs"
        w={150}
        aria-label={t("reservations.state_filter")}
        value={state}
        onChange={(value) => setState(value ?? "")}
        data={[
          { value: "", label: t("reservations.state_any") },
          { value: "live", label: t("reservations.state_live") },
          ...STATES.map((value) => ({ value, label: t(`state.${value}`) })),
          // Several, written by hand into the address, stay what they are.
          ...(state.includes(",") ? [{ value: state, label: state }] : []),
        ]}
      />
      {projects.length > 1 && (
        <Select
          size="xs"
          w={170}
          aria-label={t("reservations.project_filter")}
          value={project}
          onChange={(value) => setProject(value ?? "")}
          data={[
            { value: "", label: t("reservations.project_any") },
            ...projects.map((one) => ({ value: one.id, label: one.name })),
          ]}
        />
      )}
    </>
  );
}
