import { rm } from "node:fs/promises";
import type { LoadInput } from "../../../packages/contracts/job.ts";
import { boundedMemory } from "../../../packages/duckdb/memory.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import { oneAtATime } from "../../../packages/fair/fair-limit.ts";
import { bodyColumnsOf } from "../../../packages/warehouses/load/body-value.ts";
import type {
	LoadDay,
	UnfitRows,
} from "../../../packages/warehouses/load/load-day.ts";
import type { DayFiles } from "../../../packages/warehouses/load/warehouse.ts";
import type { JobContext } from "../../job/process.ts";
import { leaveOutOmitted } from "../body/omitted-properties.ts";
import { withoutReleased } from "../body/released-events.ts";
import { countUnfit } from "../body/unfit-count.ts";
import { downloadObjects, filesOf } from "../fetch/download.ts";
import { checkObjects } from "../fetch/object-check.ts";

/**
 * Gets the objects of days onto the scratch volume, checks them, and leaves out what tracking plans omit and what was
 * released from quarantine. Throws {@link JobFailure}.
 */
export class DownloadedDays implements DayFiles {
	readonly #columns: LoadInput["table"]["columns"];
	readonly directory: string;
	readonly #context: JobContext;
	readonly #unfit = new Map<LoadDay, UnfitRows>();
	#session: Promise<Session> | undefined;
	readonly #inTurn = oneAtATime();

	constructor(
		{ table: { columns } }: LoadInput,
		directory: string,
		context: JobContext,
	) {
		this.#columns = columns;
		this.directory = directory;
		this.#context = context;
	}

	/** Gets all days; returns them as they are on disk. */
	async all(days: LoadDay[]): Promise<LoadDay[]> {
		const { log, signal } = this.#context;
		const found = new Map<LoadDay, LoadDay>();
		const check = async (day: LoadDay) => {
			found.set(day, await this.#check(day));
		};
		await downloadObjects(days, check, log, signal);
		return days.map((day) => found.get(day) ?? day);
	}

	async with<T>(
		days: LoadDay[],
		use: (days: LoadDay[], session: Session) => Promise<T>,
	): Promise<T> {
		return this.#inTurn(async () => {
			try {
				return await use(await this.all(days), await this.#opened());
			} finally {
				for (const { file } of days.flatMap(filesOf))
					await rm(file, { force: true });
			}
		});
	}

	unfitOf(day: LoadDay): UnfitRows | undefined {
		const isNone =
			day.objects.length === 0 || bodyColumnsOf(this.#columns).length === 0;
		return isNone ? {} : this.#unfit.get(day);
	}

	async close(): Promise<void> {
		const session = await this.#session?.catch(() => undefined);
		session?.close();
	}

	async #check(day: LoadDay): Promise<LoadDay> {
		const session = await this.#opened();
		await checkObjects(day, session);
		await leaveOutOmitted(day, session);
		const files = day.objects.map(({ file }) => file);
		const unfit = await countUnfit(this.#columns, files, session);
		this.#unfit.set(day, unfit);
		return withoutReleased({ ...day, unfit }, session);
	}

	/** DuckDB takes as long to load as the rest of the program. Meanwhile the first objects are on their way. */
	#opened(): Promise<Session> {
		this.#session ??= import("../../../packages/duckdb/session.ts").then(
			({ Session }) =>
				Session.inMemory(boundedMemory(this.directory), this.#context.signal),
		);
		return this.#session;
	}
}
