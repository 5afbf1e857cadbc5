import { countShards, requireBucket, withLedgerTools } from "./ledger-tools.ts";
import { AcceptedLosses, type NamedObject } from "./missing/accepted-losses.ts";
import { Verification } from "./verify/verification.ts";

export interface AcceptLossOptions {
	/** The Source's namespace. */
	account: string;
	sourceKey: string;
	date: string;
}

/**
 * `tidemill ledger accept-loss`: notes that the objects which a date of a Source lacks now are gone for good, so that Runs leave them out
 * and say so. It reads archive's settings and can run beside archive.
 */
export async function main(dated: AcceptLossOptions): Promise<number> {
	return withLedgerTools(async (tools) => {
		await requireBucket(tools);
		const { store, added, log } = tools;
		const shards = await countShards(tools);
		const verification = await Verification.open({ ...tools, shards });
		const objects: NamedObject[] = [];
		let accepted = 0;
		for await (const found of verification.ofSource(dated))
			if (found.date === dated.date) {
				objects.push(...found.missing);
				accepted += found.accepted.length;
			}
		const name = `${dated.date} of source ${dated.sourceKey} of ${dated.account}`;
		if (objects.length > 0) {
			const { account, sourceKey, date } = dated;
			const time = new Date().toISOString();
			await new AcceptedLosses(store).add({
				...{ version: 1, account, sourceKey, date, time, objects },
			});
		}
		// Also repeats what an earlier call was kept from.
		if (objects.length + accepted > 0) await added.publish(dated);
		const rows = objects.reduce((sum, { rows }) => sum + rows, 0);
		if (objects.length === 0) {
			console.log(
				`Nothing is missing of ${name} that isn't accepted, in the objects of shards ${tools.shards.join(", ")}.`,
			);
			return 0;
		}
		log.warn({ ...dated, objects: objects.length, rows }, "a loss is accepted");
		console.log(
			`Accepted: ${objects.length} ${objects.length === 1 ? "object" : "objects"} with ${rows} events of ${name} are gone for good. Runs leave them out and say so; an object that comes back counts again.`,
		);
		return 0;
	});
}
