/** A product of the API, by the name under which its actions are grouped. */
export type ProductName = 'ecs' | 'vpc' | 'ram' | 'sts' | 'ess' | 'location' | 'bssopenapi';

/**
 * How a parameter list is spelt on the wire: `repeat` is `Name.1`, `Name.2`; `json` is one JSON text in
 * `Name`; `comma` is `a,b,c`.
 */
export type ListStyle = 'repeat' | 'json' | 'comma';

export type ScalarType = 'string' | 'integer' | 'long' | 'float' | 'boolean';

/** One parameter or response field. `key` is its name inside, `wire` its name outside. */
export type Field = { readonly key: string; readonly wire: string } & FieldRules & FieldShape;

export interface FieldRules {
  readonly required?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  /** The values that a string may take, where the API states them. */
  readonly enum?: readonly string[];
}

export type FieldShape =
  | { readonly type: ScalarType }
  /** A free map or value whose inside the metadata does not describe; in requests it is a JSON text. */
  | { readonly type: 'any'; readonly style?: 'json' }
  | { readonly type: 'object'; readonly fields: readonly Field[]; readonly style?: 'json' }
  | { readonly type: 'array'; readonly item: FieldShape; readonly style: ListStyle };

/** The whole description of an action, read from the compact tables on first use. */
export interface ActionTable {
  readonly methods: readonly ('GET' | 'POST')[];
  /** Called without a signature: the request itself carries a token of another identity provider. */
  readonly anonymous?: true;
  readonly request: readonly Field[];
  readonly response: readonly Field[];
  /** Documented error codes with their HTTP status. */
  readonly errors: Readonly<Record<string, number>>;
}

/**
 * A reference to an action: cheap, typed by its request and response, and a look-up away from its table.
 * `Request` and `Response` exist for the compiler only.
 */
export interface ActionSchema<Request, Response> {
  readonly product: ProductName;
  readonly version: string;
  readonly name: string;
  readonly table: () => ActionTable;
  readonly types?: { readonly request: Request; readonly response: Response };
}
