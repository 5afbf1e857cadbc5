import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A port of TCP or UDP where a process waits for others. */
export interface Listener {
	address: string;
	port: number;
}

/** Where these processes, and those of the groups that they lead, listen. Reads Linux's /proc (proc_pid_net(5)). */
export function listenersOf(pids: number[]): Listener[] {
	const processes = readdirSync("/proc").filter(
		(name) =>
			/^\d+$/.test(name) &&
			(pids.includes(Number(name)) || pids.includes(groupOf(name))),
	);
	const inodes = new Set(processes.flatMap(socketsOf));
	return ["tcp", "tcp6", "udp", "udp6"]
		.flatMap(listening)
		.filter(({ inode }) => inodes.has(inode))
		.map(({ address, port }) => ({ address, port }))
		.toSorted((a, b) => a.port - b.port);
}

function groupOf(pid: string): number {
	try {
		const text = readFileSync(`/proc/${pid}/stat`, "utf8");
		// The name, in parentheses, may hold anything.
		return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[2]);
	} catch {
		// It has ended.
		return Number.NaN;
	}
}

function socketsOf(pid: string): string[] {
	const directory = `/proc/${pid}/fd`;
	return readdirSync(directory).flatMap((descriptor) => {
		try {
			const target = readlinkSync(`${directory}/${descriptor}`);
			return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [];
		} catch {
			// It was closed meanwhile.
			return [];
		}
	});
}

/** TCP_LISTEN, and a UDP socket without a peer. */
const waits: Record<string, string> = {
	tcp: "0A",
	tcp6: "0A",
	udp: "07",
	udp6: "07",
};

function listening(protocol: string) {
	return readFileSync(`/proc/net/${protocol}`, "utf8")
		.trim()
		.split("\n")
		.slice(1)
		.map((line) => line.trim().split(/\s+/))
		.filter(([, , , state]) => state === waits[protocol])
		.map((fields) => {
			const [address, port] = fields[1]!.split(":") as [string, string];
			return {
				address: shownAddress(address),
				port: Number.parseInt(port, 16),
				inode: fields[9]!,
			};
		});
}

/** IPv4 stands in the byte order of the machine, which is little-endian on x64 and arm64. */
function shownAddress(hex: string): string {
	if (hex.length > 8) return hex;
	return [...Buffer.from(hex, "hex")].toReversed().join(".");
}
