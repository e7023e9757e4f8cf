import { Choices, Popup } from "@/components/popup";
import { Icon } from "@/components/icon";
import { useProject } from "@/hooks/use-project";
import { useT } from "@/lib/i18n";
import classes from "@/app/shell.module.css";

/** The project that new reservations go to. */
export function ProjectSwitch() {
  const t = useT();
  const { project, projects, setProject } = useProject();
  if (!project) return null;
  const face = (
    <>
      <span className={classes.name} dir="auto">
        {project.name}
      </span>
      <Icon name="down" size={12} />
    </>
  );
  return (
    <Popup label={`${t("shell.project")}: ${project.name}`} face={face} className={classes.button}>
      {(close) => (
        <Choices
          legend={t("shell.project")}
          value={project.id}
          options={projects.map((one) => ({ value: one.id, word: one.name }))}
          onChange={(id) => {
            setProject(id);
            close();
          }}
        />
      )}
    </Popup>
  );
}
