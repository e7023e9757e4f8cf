import { Button, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { EmptyState } from "@/components/empty-state";
import { Icon } from "@/components/icon";
import { Page } from "@/components/page";
import { ProblemAlert } from "@/components/problem-alert";
import { SkeletonRows } from "@/components/skeleton-rows";
import { ClassCard } from "@/features/offers/class-card";
import classes from "@/features/offers/offers.module.css";
import { groupOffers, matches, soldOf, sortOf, SORTS } from "@/features/offers/shelf";
import { useFirstDevices } from "@/hooks/use-devices";
import { useMe } from "@/hooks/use-me";
import { useOffers, type Offer } from "@/hooks/use-offers";
import { useSearchText } from "@/hooks/use-search-text";
import { kindName } from "@/lib/device-kind";
import { useT, type Translate } from "@/lib/i18n";
import { sizeText } from "@/lib/reservation-words";

/** What is sold: device classes, their usual sizes, what is enforced, and the price now. */
export function OffersPage() {
  const t = useT();
  const offers = useOffers();
  return (
    <Page
      title={t("offers.title")}
      primary={
        <Button component={Link} to="/reserve">
          {t("offers.reserve_own")}
        </Button>
      }
    >
      {offers.isError && <ProblemAlert problem={offers.error} retry={() => void offers.refetch()} />}
      {offers.isPending && <SkeletonRows rows={3} height={160} />}
      {offers.data && (offers.data.length === 0 ? <NothingSold /> : <Shelf offers={offers.data} />)}
    </Page>
  );
}

const wordsOf = (offer: Offer, t: Translate): string =>
  [
    kindName(offer.device_kind, t), offer.device_kind, offer.title, offer.preset, offer.profile, sizeText(offer.slice),
    ...offer.isolation, ...offer.isolation.map((mode) => t(`isolation.${mode.replaceAll("-", "_")}` as "isolation.mig")),
    offer.simulated ? t("common.simulated") : "",
  ].join(" ");

function Shelf({ offers }: { offers: Offer[] }) {
  const t = useT();
  const [filter, setFilter] = useSearchText("q");
  const [sortText, setSort] = useSearchText("sort");
  const devices = useFirstDevices().data?.devices ?? [];
  const shown = offers.filter((offer) => matches(wordsOf(offer, t), filter));
  const groups = groupOffers(shown.map((offer) => soldOf(offer, devices)), sortOf(sortText));
  return (
    <Stack gap={16}>
      <div className={classes.tools}>
        <TextInput
          aria-label={t("common.filter")}
          placeholder={t("offers.filter_hint")}
          leftSection={<Icon name="search" size={14} />}
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
          size="xs"
        />
        <SegmentedControl
          size="xs"
          aria-label={t("offers.sort")}
          value={sortOf(sortText)}
          onChange={setSort}
          data={SORTS.map((value) => ({ value, label: t(`offers.${value}`) }))}
        />
      </div>
      {groups.map((group) => (
        <ClassCard key={group.id} group={group} />
      ))}
      {groups.length === 0 && (
        <EmptyState
          title={t("offers.none_match", { filter })}
          text=""
          action={
            <Button variant="default" size="xs" onClick={() => setFilter("")}>
              {t("common.clear_filter")}
            </Button>
          }
        />
      )}
      {groups.length > 0 && (
        <Text size="xs" c="dimmed">
          {t("offers.price_note")}
        </Text>
      )}
    </Stack>
  );
}

function NothingSold() {
  const t = useT();
  const { is_operator } = useMe();
  return (
    <EmptyState
      title={t("offers.empty")}
      text={t(is_operator ? "offers.empty_operator" : "offers.empty_tenant")}
      action={
        <Button component={Link} to={is_operator ? "/nodes" : "/reserve"} variant="default">
          {t(is_operator ? "offers.empty_nodes" : "offers.empty_open")}
        </Button>
      }
    />
  );
}
