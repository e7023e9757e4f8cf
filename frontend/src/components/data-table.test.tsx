import { screen, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { DataTable, type Column } from "@/components/data-table";
import { renderPage } from "@/test/render";

type Slice = { id: string; name: string; memory: number | null };

const columns: Column<Slice>[] = [
  { id: "name", head: "Name", value: (row) => row.name, cell: (row) => row.name, fixed: true },
  { id: "memory", head: "Memory (MiB)", value: (row) => row.memory, cell: (row) => row.memory ?? "n/a", end: true },
  { id: "note", head: "Note", cell: () => "-", hidden: true },
];
const some: Slice[] = [
  { id: "a", name: "training", memory: 2048 },
  { id: "b", name: "عربي", memory: null },
  { id: "c", name: "inference", memory: 512 },
];

function draw(rows: Slice[], at = "/rows", onOpen?: (row: Slice) => void) {
  const Rows = () => (
    <DataTable
      name="test"
      label="Slices"
      columns={columns}
      rows={rows}
      rowId={(row) => row.id}
      onOpen={onOpen}
      empty={<p>No slice yet.</p>}
    />
  );
  return renderPage(Rows, { at });
}

const names = () =>
  within(screen.getByRole("grid"))
    .getAllByRole("row")
    .slice(1)
    .map((row) => within(row).getAllByRole("cell")[0]?.textContent);

describe("a table", () => {
  it("says what to do when there is nothing", async () => {
    await draw([]);
    expect(screen.getByText("No slice yet.")).toBeInTheDocument();
  });

  it("filters, and keeps the filter in the address", async () => {
    const { user, router } = await draw(some);
    await user.type(screen.getByRole("textbox", { name: "Filter" }), "infer");
    expect(names()).toEqual(["inference"]);
    expect(router.state.location.search).toMatchObject({ q: "infer" });
    expect(screen.getByText("1 of 3 rows")).toBeInTheDocument();
  });

  it("opens with the filter of its address and offers a way out when nothing matches", async () => {
    const { user } = await draw(some, "/rows?q=nothing");
    expect(screen.getByText("No row matches this filter.")).toBeInTheDocument();
    await user.click(screen.getByText("Clear the filter"));
    expect(names()).toHaveLength(3);
  });

  it("sorts by a head; unknown values stay last either way", async () => {
    const { user } = await draw(some);
    const head = screen.getByRole("button", { name: /Memory/ });
    await user.click(head);
    expect(names().at(-1)).toBe("عربي");
    await user.click(head);
    expect(names().at(-1)).toBe("عربي");
    expect(screen.getByRole("columnheader", { name: /Memory/ })).toHaveAttribute("aria-sort");
  });

  it("walks and opens rows by keyboard", async () => {
    const onOpen = vi.fn();
    const { user } = await draw(some, "/rows", onOpen);
    const rows = screen.getAllByRole("row").slice(1);
    rows[0]?.focus();
    await user.keyboard("{ArrowDown}");
    await vi.waitFor(() => expect(rows[1]).toHaveFocus());
    await user.keyboard("{Enter}");
    expect(onOpen).toHaveBeenCalledExactlyOnceWith(some[1]);
  });

  it("keeps the choice of columns", async () => {
    const { user, unmount } = await draw(some);
    await user.click(screen.getByRole("button", { name: "Columns" }));
    await user.click(await screen.findByRole("checkbox", { name: "Memory (MiB)" }));
    expect(screen.queryByRole("columnheader", { name: /Memory/ })).toBeNull();
    unmount();
    await draw(some);
    expect(screen.queryByRole("columnheader", { name: /Memory/ })).toBeNull();
  });

  it("comes to rest: it draws again for a change only", async () => {
    const cell = vi.fn((row: Slice) => row.name);
    const counting: Column<Slice>[] = [{ id: "name", head: "Name", value: (row) => row.name, cell }];
    const Rows = () => (
      <DataTable name="rest" label="Slices" columns={counting} rows={some} rowId={(row) => row.id} sort="-name" empty={null} />
    );
    const { user } = await renderPage(Rows, { at: "/rows" });
    await user.click(screen.getByRole("button", { name: /Name/ }));
    const before = cell.mock.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(cell.mock.calls.length).toBe(before);
  });

  it("draws only what is seen of 10,000 rows", async () => {
    await draw(Array.from({ length: 10_000 }, (_, n) => ({ id: String(n), name: `slice ${n}`, memory: n })));
    expect(screen.getByText("10,000 rows")).toBeInTheDocument();
    expect(screen.getAllByRole("row").length).toBeLessThan(200);
  });
});
