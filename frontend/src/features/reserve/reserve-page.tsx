import { Anchor, Button, Text } from "@mantine/core";
import "@mantine/core/styles/NumberInput.layer.css";
import "@mantine/core/styles/Slider.layer.css";
import { Link, useSearch } from "@tanstack/react-router";
import { EmptyState } from "@/components/empty-state";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { BuyBar } from "@/features/reserve/buy-bar";
import { ClockNote } from "@/features/reserve/clock-note";
import { DetailsPanel } from "@/features/reserve/details-panel";
import { PurchaseNotice } from "@/features/reserve/notices";
import { QuotePanel } from "@/features/reserve/quote-panel";
import classes from "@/features/reserve/reserve.module.css";
import { ignoredOf, parseReserveSearch } from "@/features/reserve/search";
import { presetsFor } from "@/features/reserve/shelf";
import { SizePanel } from "@/features/reserve/size-panel";
import { useChooser } from "@/features/reserve/use-chooser";
import { useNarrow } from "@/features/reserve/use-narrow";
import { useShelf, type ShelfState } from "@/features/reserve/use-shelf";
import { WhenPanel } from "@/features/reserve/when-panel";
import { may, useMe } from "@/hooks/use-me";
import { useT } from "@/lib/i18n";

/** Choose a slice and a time, see what it costs, buy it. */
export function ReservePage() {
  const t = useT();
  const me = useMe();
  const raw: Record<string, unknown> = useSearch({ strict: false });
  const shelf = useShelf(parseReserveSearch(raw).device);
  return (
    <Page
      title={t("reserve.title")}
      aside={
        <Anchor component={Link} to="/offers" size="sm">
          {t("reserve.see_offers")}
        </Anchor>
      }
    >
      {me.projects.length === 0 ? (
        <EmptyState
          title={t("reserve.no_project")}
          text={t("reserve.no_project_text")}
          action={
            <Button component={Link} to="/access" variant="default">
              {t("reserve.no_project_open")}
            </Button>
          }
        />
      ) : (
        <Loaded shelf={shelf} raw={raw} />
      )}
    </Page>
  );
}

function Loaded({ shelf, raw }: { shelf: ShelfState; raw: Record<string, unknown> }) {
  const t = useT();
  const me = useMe();
  if (shelf.problem) return <ProblemAlert problem={shelf.problem} retry={shelf.retry} />;
  if (shelf.isLoading) return <SkeletonRows rows={4} height={96} />;
  if (shelf.classes.length > 0) return <Chosen shelf={shelf} raw={raw} />;
  return (
    <EmptyState
      title={t("reserve.no_devices")}
      text={t(me.is_operator ? "reserve.no_devices_operator" : "reserve.no_devices_tenant")}
      action={
        me.is_operator ? (
          <Button component={Link} to="/nodes">
            {t("reserve.no_devices_open")}
          </Button>
        ) : undefined
      }
    />
  );
}

function Chosen({ shelf, raw }: { shelf: ShelfState; raw: Record<string, unknown> }) {
  const t = useT();
  const me = useMe();
  const chooser = useChooser(shelf);
  const { shown, size, quote, purchase } = chooser;
  const ignored = ignoredOf(raw);
  const isNarrow = useNarrow();
  const buying = {
    state: quote,
    refusal: chooser.refusal,
    isBuying: purchase.state.kind === "sending",
    canBuy: may(me, "reservation:write"),
    canQueue: chooser.canQueue,
    onBuy: chooser.buy,
    onQueue: chooser.queue,
  };
  if (size === null || chooser.project === null) return <SkeletonRows rows={4} height={96} />;
  return (
    <div className={classes.columns}>
      {/* One intent at a time: nothing is changed while the end of a purchase is not known. */}
      <fieldset className={classes.choice} disabled={purchase.isOpen}>
        <legend className={classes.hidden}>{t("reserve.choice")}</legend>
        {ignored.length > 0 && (
          <Text size="xs" c="dimmed" role="status">
            {t("reserve.ignored", { names: ignored.join(", ") })}
          </Text>
        )}
        <ClockNote />
        <SizePanel
          size={size}
          deviceMib={chooser.deviceMib}
          devicePermille={chooser.devicePermille}
          presets={presetsFor(shown, shelf.classes, chooser.deviceMib)}
          chosenOffer={shown.offer ?? null}
          onSize={chooser.resize}
          onOffer={(offer) => chooser.change({ offer, memory_mib: undefined, share_permille: undefined })}
        />
        <WhenPanel
          search={shown}
          startError={quote.problem?.field("starts_at")}
          endError={quote.problem?.field("ends_at")}
          onChange={chooser.change}
        />
        <DetailsPanel
          search={shown}
          classes={shelf.classes}
          devices={shelf.devices}
          project={chooser.project}
          onChange={chooser.change}
        />
      </fieldset>
      <QuotePanel
        {...buying}
        ways={chooser.ways}
        onWay={chooser.take}
        notice={<PurchaseNotice state={purchase.state} onTryAgain={purchase.tryAgain} onDismiss={purchase.dismiss} />}
        lines={chooser.lines}
      />
      {isNarrow && <BuyBar {...buying} />}
    </div>
  );
}
