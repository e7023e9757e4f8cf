import { Button, Menu } from "@mantine/core";
import { Icon } from "@/components/icon";
import { useProject } from "@/hooks/use-project";
import { useT } from "@/lib/i18n";

/** The project that new reservations go to. */
export function ProjectSwitch() {
  const t = useT();
  const { project, projects, setProject } = useProject();
  if (!project) return null;
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button
          size="xs"
          variant="default"
          maw={200}
          aria-label={`${t("shell.project")}: ${project.name}`}
          rightSection={<Icon name="down" size={12} />}
          dir="auto"
        >
          {project.name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("shell.project")}</Menu.Label>
        {projects.map((one) => (
          <Menu.Item
            key={one.id}
            role="menuitemradio"
            aria-checked={one.id === project.id}
            leftSection={one.id === project.id ? <Icon name="check" size={14} /> : <span style={{ width: 14 }} />}
            onClick={() => setProject(one.id)}
            dir="auto"
          >
            {one.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
