import { parseArgs } from "node:util";
import { Settings } from "../../../service/settings.ts";
import { type Loss, lossId } from "../decide/loss.ts";
import { ObjectKeys } from "../s3/object-keys.ts";
import { S3ObjectStore } from "../s3/s3-object-store.ts";
import { readArchiveSettings } from "../settings.ts";
import { LossStore, type RecordedLoss } from "../write/loss-store.ts";

const usage = `Usage:
  tidemill shard losses
      list the losses that archive has found in its streams, and who accepted them
  tidemill shard accept-loss <stream> <loss> --by <you> --reason <why>
      let archive continue without frames that can't be restored: exactly these
Both read archive's settings, and can run beside archive.
`;

/** `tidemill shard`: what a person does about archive's alarms. Exit codes: 0, 1 for a failure, 2 for wrong arguments. */
export async function main([action, ...args]: string[]): Promise<number> {
	const asked = readAcceptance(args);
	const isKnown =
		action === "losses" ? args.length === 0 : action === "accept-loss" && asked;
	if (!isKnown) {
		process.stderr.write(usage);
		return 2;
	}
	const archive = readArchiveSettings(new Settings());
	const store = new S3ObjectStore(archive.store, new AbortController().signal);
	const losses = new LossStore(store, new ObjectKeys(archive.prefix));
	try {
		return action === "losses"
			? await list(losses)
			: await accept(losses, asked!);
	} finally {
		store.close();
	}
}

interface AskedAcceptance {
	stream: string;
	id: string;
	by: string;
	reason: string;
}

function readAcceptance(args: string[]): AskedAcceptance | undefined {
	try {
		const { values, positionals } = parseArgs({
			args,
			allowPositionals: true,
			options: { by: { type: "string" }, reason: { type: "string" } },
		});
		const [stream, id, ...rest] = positionals;
		const { by, reason } = values;
		if (!stream || !id || rest.length > 0 || !by || !reason) return undefined;
		return { stream, id, by, reason };
	} catch {
		return undefined;
	}
}

async function list(losses: LossStore): Promise<number> {
	let count = 0;
	for await (const loss of losses.all()) {
		count++;
		console.log(textOf(loss));
	}
	if (count === 0) console.log("Archive has found no losses.");
	return 0;
}

function textOf(loss: RecordedLoss): string {
	const { acceptance } = loss;
	return [
		`${loss.stream} ${lossId(loss)}`,
		`  found     ${loss.found}`,
		`  missing   ${scopeOf(loss)}`,
		acceptance
			? `  accepted  ${acceptance.time} by ${acceptance.by}: ${acceptance.reason}`
			: "  accepted  no; the shard waits",
	].join("\n");
}

function scopeOf(loss: Loss): string {
	const count = loss.to - loss.from + 1;
	const frames = count === 1 ? "1 frame" : `${count} frames`;
	return loss.kind === "frames"
		? `${frames}, numbers ${loss.from} to ${loss.to} of receive process ${loss.process}`
		: `${frames}, sequences ${loss.from} to ${loss.to} of the stream`;
}

async function accept(
	losses: LossStore,
	{ stream, id, by, reason }: AskedAcceptance,
): Promise<number> {
	const acceptance = await losses.accept(stream, id, by, reason);
	if (!acceptance) {
		process.stderr.write(
			`tidemill shard accept-loss: archive has found no loss "${id}" of stream "${stream}", and only a found loss can be accepted. See: tidemill shard losses\n`,
		);
		return 1;
	}
	console.log(
		`${stream} ${id}: accepted ${acceptance.time} by ${acceptance.by}: ${acceptance.reason}`,
	);
	return 0;
}
