import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Kysely, type Transaction as KyselyTransaction, SqliteDialect } from 'kysely';
import type {
  AccountId,
  DiskId,
  ImageId,
  InstanceId,
  InvocationId,
  NetworkInterfaceId,
  RequestId,
  SnapshotId,
  VpcId,
} from '../domain/ids.js';
import { initial } from './migrations/0001-initial.js';
import type { Tables } from './tables.js';

/** Every schema change, oldest first; the database's `user_version` counts how many it has seen. */
const migrations = [initial];

/** A resource that a loop shall look at. */
export type Wake =
  | { readonly kind: 'instance'; readonly id: InstanceId }
  | { readonly kind: 'vpc'; readonly id: VpcId }
  /** A port of the VPC came, changed or went; the rest of the VPC is as it was. */
  | { readonly kind: 'networkInterface'; readonly id: NetworkInterfaceId; readonly vpcId: VpcId }
  | { readonly kind: 'disk'; readonly id: DiskId }
  | { readonly kind: 'snapshot'; readonly id: SnapshotId }
  | { readonly kind: 'image'; readonly id: ImageId }
  | { readonly kind: 'invocation'; readonly id: InvocationId };

/** Who changes something: a signed request, or a loop. */
export interface Actor {
  readonly name: string;
  readonly accountId?: AccountId;
  readonly requestId?: RequestId;
}

/** What happened to a resource, for the event log. Values hold only what changed, and no secrets. */
export interface Change {
  readonly resourceType: string;
  readonly resourceId: string;
  readonly action: string;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

/** Reads outside a transaction see the last committed state. */
export type Reader = Kysely<Tables>;

/** One transaction: all changes, their events and the wake-ups that follow happen together or not at all. */
export interface Transaction {
  readonly db: KyselyTransaction<Tables>;
  readonly now: Date;
  /** Puts a change into the event log. */
  record(change: Change): Promise<void>;
  /** Has a loop look at the resource once the transaction has been committed. */
  wake(wake: Wake): void;
  /** Runs when the transaction fails, to take back what was done in memory. Last registered, first run. */
  onRollback(undo: () => void): void;
}

type WakeListener = (wake: Wake) => void;

/**
 * When a committed transaction is on the disk for good. `acknowledged`: before `transaction` resolves, so
 * that it survives a power cut. `derived`: soon after, in order; for what a loop found out and would find
 * out again. Neither is lost when the process dies.
 */
export type Durability = 'acknowledged' | 'derived';

const synchronousOf: Readonly<Record<Durability, string>> = { acknowledged: 'FULL', derived: 'NORMAL' };

/**
 * The cloud's state on SQLite. One connection writes, another reads, so that a read never waits for a
 * transaction (WAL).
 */
export class Store {
  private readonly listeners = new Set<WakeListener>();
  private lastTransaction: Promise<unknown> = Promise.resolve();
  private durability: Durability | undefined;

  private constructor(
    private readonly database: Database.Database,
    private readonly writer: Kysely<Tables>,
    readonly reader: Reader,
    private readonly clock: () => Date,
  ) {}

  /** Opens (and on first use makes) the database in a directory that only its owner can read. */
  static open(directory: string, clock: () => Date = () => new Date()): Store {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const file = join(directory, 'openegs.sqlite');
    const isNew = !existsSync(file);
    const writer = new Database(file);
    if (isNew) chmodSync(file, 0o600);
    writer.pragma('journal_mode = WAL');
    writer.pragma('foreign_keys = ON');
    migrate(writer);
    const reader = new Database(file, { readonly: true });
    return new Store(writer, asKysely(writer), asKysely(reader), clock);
  }

  /**
   * Runs `work` in one transaction. Transactions of one process run one after the other, so that what
   * `work` reads cannot change before it writes.
   */
  transaction<Result>(
    actor: Actor,
    work: (tx: Transaction) => Promise<Result>,
    durability: Durability = 'acknowledged',
  ): Promise<Result> {
    const inTurn = this.lastTransaction.then(() => this.run(actor, work, durability));
    this.lastTransaction = inTurn.catch(() => undefined);
    return inTurn;
  }

  private async run<Result>(
    actor: Actor,
    work: (tx: Transaction) => Promise<Result>,
    durability: Durability,
  ): Promise<Result> {
    if (this.durability !== durability) {
      this.database.pragma(`synchronous = ${synchronousOf[durability]}`);
      this.durability = durability;
    }
    const woken: Wake[] = [];
    const undo: (() => void)[] = [];
    const now = this.clock();
    let result: Result;
    try {
      result = await this.writer.transaction().execute((db) =>
        work({
          db,
          now,
          record: (change) => insertEvent(db, now, actor, change),
          wake: (wake) => woken.push(wake),
          onRollback: (step) => undo.push(step),
        }),
      );
    } catch (error) {
      for (const step of undo.reverse()) step();
      throw error;
    }
    for (const wake of woken) for (const listener of this.listeners) listener(wake);
    return result;
  }

  /** Calls the listener for every resource that a committed transaction woke. */
  onWake(listener: WakeListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.reader.destroy();
    await this.writer.destroy();
  }
}

/** Prepared statements that a connection keeps. Lists in queries make many; they are short and few lengths come often. */
const maxKeptStatements = 500;

/** A query builder over the connection, with statements prepared once instead of at each use. */
function asKysely(database: Database.Database): Kysely<Tables> {
  const statements = new Map<string, Database.Statement>();
  const prepare = (sql: string): Database.Statement => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = database.prepare(sql);
      if (statements.size >= maxKeptStatements) statements.clear();
      statements.set(sql, statement);
    }
    return statement;
  };
  return new Kysely<Tables>({
    dialect: new SqliteDialect({ database: { prepare, close: () => database.close() } }),
  });
}

function migrate(database: Database.Database): void {
  const seen = database.pragma('user_version', { simple: true });
  if (typeof seen !== 'number' || seen > migrations.length) {
    throw new Error('the database was written by a newer version of OpenEGS');
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < seen) continue;
    database.transaction(() => {
      database.exec(migration);
      database.pragma(`user_version = ${index + 1}`);
    })();
  }
}

async function insertEvent(
  db: KyselyTransaction<Tables>,
  now: Date,
  actor: Actor,
  change: Change,
): Promise<void> {
  await db
    .insertInto('events')
    .values({
      time: now.toISOString(),
      accountId: actor.accountId ?? null,
      actor: actor.name,
      requestId: actor.requestId ?? null,
      resourceType: change.resourceType,
      resourceId: change.resourceId,
      action: change.action,
      before: change.before ? JSON.stringify(change.before) : null,
      after: change.after ? JSON.stringify(change.after) : null,
    })
    .execute();
}

/**
 * The cloud's own id, made once. Everything that it puts on a host carries it, so that two clouds on one
 * machine never touch each other's things.
 */
export async function getCloudId(store: Store): Promise<string> {
  return store.transaction({ name: 'start' }, async ({ db }) => {
    const known = await db.selectFrom('meta').select('value').where('key', '=', 'cloudId').executeTakeFirst();
    if (known) return known.value;
    const value = randomBytes(4).toString('hex');
    await db.insertInto('meta').values({ key: 'cloudId', value }).execute();
    return value;
  });
}
