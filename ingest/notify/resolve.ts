import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP, isIPv4 } from "node:net";

/** Within one call's time, so that a name server that is silent isn't all that is asked. */
const patience = { timeout: 2_000, tries: 2 };

/**
 * The addresses of a name, by /etc/hosts or by DNS. Not by the system's resolver: a question to that one holds one of the few
 * threads of the process until it is answered, so one account's slow name server would stop the calls of all.
 */
export async function resolveName(
	name: string,
	{
		signal,
		nameServers,
		hostsFile = "/etc/hosts",
		resolvFile = "/etc/resolv.conf",
	}: {
		signal: AbortSignal;
		/** Instead of those of /etc/resolv.conf. */
		nameServers?: string[];
		hostsFile?: string;
		resolvFile?: string;
	},
): Promise<LookupAddress[]> {
	const known = await addressesIn(hostsFile, name);
	if (known.length > 0) return known.map(withFamily);
	const domains = name.endsWith(".") ? [] : await searchDomains(resolvFile);
	const resolver = new Resolver(patience);
	if (nameServers) resolver.setServers(nameServers);
	const cancel = () => resolver.cancel();
	signal.addEventListener("abort", cancel, { once: true });
	try {
		let missing: Error | undefined;
		for (const full of [
			name,
			...domains.map((domain) => `${name}.${domain}`),
		]) {
			signal.throwIfAborted();
			const answers = await Promise.allSettled([
				resolver.resolve4(full),
				resolver.resolve6(full),
			]);
			const found = answers.flatMap((answer) =>
				answer.status === "fulfilled" ? answer.value : [],
			);
			if (found.length > 0) return found.map(withFamily);
			for (const answer of answers)
				if (answer.status === "rejected") missing ??= answer.reason;
		}
		throw missing ?? new Error("no address");
	} finally {
		signal.removeEventListener("abort", cancel);
	}
}

/** hosts(5): an address and its names in each line. */
async function addressesIn(file: string, name: string): Promise<string[]> {
	return (await linesOf(file)).flatMap(([address = "", ...names]) =>
		names.some((one) => one.toLowerCase() === name) && isIP(address)
			? [address]
			: [],
	);
}

/** resolv.conf(5): the last `search` counts. Kubernetes' makes `alertmanager.monitoring.svc` a name. */
async function searchDomains(file: string): Promise<string[]> {
	const [, ...domains] =
		(await linesOf(file)).findLast(([word]) => word === "search") ?? [];
	return domains.filter((domain) => domain !== ".");
}

async function linesOf(file: string): Promise<string[][]> {
	const text = await readFile(file, "utf8").catch(() => "");
	return text.split("\n").map((line) =>
		line
			.replace(/[#;].*/, "")
			.trim()
			.split(/\s+/),
	);
}

function withFamily(address: string): LookupAddress {
	return { address, family: isIPv4(address) ? 4 : 6 };
}
