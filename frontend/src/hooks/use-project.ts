import { useSyncExternalStore } from "react";
import { useMe, type Me } from "@/hooks/use-me";
import { signal } from "@/lib/signal";
import { readStored, writeStored } from "@/lib/stored";

const chosen = signal<string | null>(readStored("project"));

export function setProject(id: string): void {
  writeStored("project", id);
  chosen.set(id);
}

export type ProjectChoice = {
  /** The project that new reservations go to; null for a caller without any. */
  project: Me["projects"][number] | null;
  projects: Me["projects"];
  setProject: (id: string) => void;
};

export function useProject(): ProjectChoice {
  const { projects } = useMe();
  const id = useSyncExternalStore(chosen.subscribe, chosen.get);
  const project = projects.find((one) => one.id === id) ?? projects[0] ?? null;
  return { project, projects, setProject };
}
