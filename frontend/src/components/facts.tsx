import { Fragment, type ReactNode } from "react";
import classes from "@/components/facts.module.css";

type FactsProps = { rows: readonly (readonly [name: string, value: ReactNode])[] };

/** Names and values, one below the other, the values in one line. */
export function Facts({ rows }: FactsProps) {
  return (
    <dl className={classes.facts}>
      {rows.map(([name, value]) => (
        <Fragment key={name}>
          <dt className={classes.name}>{name}</dt>
          <dd className={classes.value}>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
