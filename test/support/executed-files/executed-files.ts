import { Session } from "node:inspector/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(import.meta.dirname, "../../..");

/** Of V8's profiler: a script and the functions of it that were called. */
interface ScriptCoverage {
	url: string;
	functions: FunctionCoverage[];
}

interface FunctionCoverage {
	functionName: string;
	ranges: { startOffset: number; count: number }[];
}

/**
 * The files of the repository whose code is executed while `scene` goes on, in this process and in its worker threads: at
 * least one of a file's functions is called. A file that only loads, or only has types and constants, doesn't count.
 */
export async function executedFiles(
	scene: () => Promise<unknown>,
): Promise<string[]> {
	const session = new Session();
	session.connect();
	const threads = new WorkerThreads(session);
	await session.post("Profiler.enable");
	await session.post("Profiler.startPreciseCoverage", { callCount: true });
	await threads.start();
	try {
		await scene();
		const { result } = await session.post("Profiler.takePreciseCoverage");
		const scripts = [...result, ...(await threads.take())];
		return [...new Set(scripts.filter(isExecuted).map(pathOf))].sort();
	} finally {
		await threads.stop();
		await session.post("Profiler.stopPreciseCoverage");
		session.disconnect();
	}
}

function isExecuted({ url, functions }: ScriptCoverage): boolean {
	const isOurs =
		url.startsWith("file:") &&
		!url.includes("/node_modules/") &&
		fileURLToPath(url).startsWith(root + sep);
	return isOurs && functions.some((each) => !isScript(each) && isCalled(each));
}

/** The whole script counts as a function without a name, which is called when the file loads. */
function isScript({ functionName, ranges }: FunctionCoverage): boolean {
	return functionName === "" && ranges[0]!.startOffset === 0;
}

function isCalled({ ranges }: FunctionCoverage): boolean {
	return ranges[0]!.count > 0;
}

function pathOf({ url }: ScriptCoverage): string {
	return relative(root, fileURLToPath(url)).replaceAll(sep, "/");
}

/** The profilers of this process's worker threads, which the inspector reaches through its main thread. */
class WorkerThreads {
	readonly #session: Session;
	readonly #ids = new Set<string>();
	readonly #answers = new Map<number, (result: unknown) => void>();
	#lastId = 0;

	constructor(session: Session) {
		this.#session = session;
		session.on("NodeWorker.attachedToWorker", ({ params }) => {
			this.#ids.add(params.sessionId);
		});
		session.on("NodeWorker.detachedFromWorker", ({ params }) => {
			this.#ids.delete(params.sessionId);
		});
		session.on("NodeWorker.receivedMessageFromWorker", ({ params }) => {
			const { id, result } = JSON.parse(params.message);
			this.#answers.get(id)?.(result);
			this.#answers.delete(id);
		});
	}

	/** Only threads that are there already: a scene begins when its process has started. */
	async start(): Promise<void> {
		await this.#session.post("NodeWorker.enable", {
			waitForDebuggerOnStart: false,
		});
		await this.#askAll("Profiler.enable");
		await this.#askAll("Profiler.startPreciseCoverage", { callCount: true });
	}

	async take(): Promise<ScriptCoverage[]> {
		const all = await this.#askAll("Profiler.takePreciseCoverage");
		return all.flatMap(({ result }) => result);
	}

	async stop(): Promise<void> {
		await this.#session.post("NodeWorker.disable");
	}

	#askAll(
		method: string,
		params: object = {},
	): Promise<{ result: ScriptCoverage[] }[]> {
		return Promise.all(
			[...this.#ids].map(async (sessionId) => {
				const id = ++this.#lastId;
				const answer = new Promise<unknown>((resolve) =>
					this.#answers.set(id, resolve),
				);
				const message = JSON.stringify({ id, method, params });
				await this.#session.post("NodeWorker.sendMessageToWorker", {
					sessionId,
					message,
				});
				return (await answer) as { result: ScriptCoverage[] };
			}),
		);
	}
}
