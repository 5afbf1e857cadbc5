/**
 * Loaded into a process before its program: names below `localhost` are the machine's own (RFC 6761 §6.3), also where its
 * resolver doesn't say so.
 */
import dns, { type LookupOptions } from "node:dns";

const machineLookup = dns.lookup as (
	name: string,
	options: LookupOptions,
	callback: () => void,
) => void;

dns.lookup = ((name: string, options: LookupOptions, callback: () => void) =>
	machineLookup(
		name.endsWith(".localhost") ? "127.0.0.1" : name,
		options,
		callback,
	)) as typeof dns.lookup;
