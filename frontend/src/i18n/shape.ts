/** What another language must offer for a file of English messages. A language without plurals may leave out `_one`. */
export type Shape<T> = {
  readonly [K in keyof T as K extends `${string}_one` ? never : K]: T[K] extends string ? string : Shape<T[K]>;
} & { readonly [K in keyof T as K extends `${string}_one` ? K : never]?: string };
