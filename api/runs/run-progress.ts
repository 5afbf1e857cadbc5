import type { Run } from "../../crds/generated/types.ts";
import type { Handler } from "../http/endpoint.ts";
import { runView } from "../resources/views.ts";
import { keptLog } from "./kept-log.ts";
import { defaultLogLines, orEnd } from "./logs.ts";
import { progressIn, readJobLog } from "./run-log.ts";
import { requireRun } from "./runs.ts";

/** `GET /v1/runs/{name}/progress`: days and rows loaded and in total, as far as known. */
export const getRunProgress: Handler = async (caller, { params }) => {
	const name = params.name!;
	const run: Run = await requireRun(caller, name);
	const { status, rows } = runView(run);
	if (status === "Succeeded")
		return { status, rowsDone: rows, rowsTotal: rows };
	const log = await orEnd(
		run,
		() => readJobLog(caller.client, caller.account, name, defaultLogLines),
		() => keptLog(caller, run),
	);
	return { status, ...(log !== undefined && progressIn(log)) };
};
