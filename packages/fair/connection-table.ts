/** A network may hold this many times the places that are free. */
const shareOfFree = 4;
/** Above this, waiting connections are kept for a shorter time. */
const easyFill = 0.5;
const leastKeepAliveMs = 5_000;

interface Network<Connection> {
	name: string | undefined;
	held: number;
	/** Without a request in flight, the longest waiting first. */
	waiting: Set<Connection>;
}

/**
 * Shares a server's connections between networks, since nothing else is known about a peer that has sent nothing.
 *
 * A network may hold four times the places that are free (a dynamic threshold, as in receive's memory budget): one alone 80 %
 * of the table. For a connection beyond that, one that waits is closed: the longest waiting of the network with most that
 * wait, which must be beyond its share, too. In a full table all are, so waiting connections never keep anybody out. A
 * connection waits unless the whole head of a request has arrived that isn't answered yet: half a head, or the rest of a
 * body after the answer, is no request. One with a request in flight is never closed; if nothing else may be closed, the
 * new connection is.
 *
 * Trusted proxies carry everybody's requests: they have no share, and what they keep waiting is closed last.
 */
export class ConnectionTable<Connection> {
	readonly #most: number;
	readonly #entries = new Map<
		Connection,
		{ network: Network<Connection>; requests: number }
	>();
	readonly #networks = new Map<string, Network<Connection>>();
	readonly #proxies = networkNamed<Connection>(undefined);
	/** The networks by how many of their connections wait. */
	readonly #ranks: Set<Network<Connection>>[] = [];
	#topRank = 0;

	/** @param most places for connections. */
	constructor(most: number) {
		this.#most = most;
	}

	/** The part of the places that is taken, 0 to 1. */
	get fill(): number {
		return this.#entries.size / this.#most;
	}

	/**
	 * Takes a connection and returns the one to close for it, which the table no longer holds: a waiting one, the new one
	 * itself, or none.
	 *
	 * @param name of its network; undefined for a trusted proxy.
	 */
	add(
		connection: Connection,
		name: string | undefined,
	): Connection | undefined {
		const network =
			name === undefined
				? this.#proxies
				: (this.#networks.get(name) ?? networkNamed<Connection>(name));
		const hasPlace = this.#hasPlace(network);
		const closed = hasPlace ? undefined : this.#longestWaitingFor(network);
		if (!hasPlace && closed === undefined) return connection;
		if (closed !== undefined) this.remove(closed);
		if (name !== undefined) this.#networks.set(name, network);
		network.held++;
		this.#entries.set(connection, { network, requests: 0 });
		this.#wait(network, connection);
		return closed;
	}

	/** The head of a request has arrived. Pipelined ones count by themselves. */
	beginRequest(connection: Connection): void {
		const entry = this.#entries.get(connection);
		if (entry && entry.requests++ === 0)
			this.#stopWaiting(entry.network, connection);
	}

	/** The request is answered. */
	endRequest(connection: Connection): void {
		const entry = this.#entries.get(connection);
		if (entry && --entry.requests === 0) this.#wait(entry.network, connection);
	}

	/** The connection is closed. */
	remove(connection: Connection): void {
		const entry = this.#entries.get(connection);
		if (!entry) return;
		const { network, requests } = entry;
		this.#entries.delete(connection);
		if (requests === 0) this.#stopWaiting(network, connection);
		if (--network.held === 0 && network.name !== undefined)
			this.#networks.delete(network.name);
	}

	get #free(): number {
		return this.#most - this.#entries.size;
	}

	#hasPlace(network: Network<Connection>): boolean {
		return network === this.#proxies
			? this.#free > 0
			: network.held < shareOfFree * this.#free;
	}

	#longestWaitingFor(network: Network<Connection>): Connection | undefined {
		const [top] = this.#ranks[this.#topRank] ?? [];
		const isFull = this.#free === 0;
		const candidates = [
			top && !this.#hasPlace(top) ? top : undefined,
			network,
			isFull ? this.#proxies : undefined,
		];
		for (const candidate of candidates)
			for (const connection of candidate?.waiting ?? []) return connection;
		return undefined;
	}

	#wait(network: Network<Connection>, connection: Connection): void {
		network.waiting.add(connection);
		this.#rank(network, network.waiting.size - 1);
	}

	#stopWaiting(network: Network<Connection>, connection: Connection): void {
		network.waiting.delete(connection);
		this.#rank(network, network.waiting.size + 1);
	}

	#rank(network: Network<Connection>, before: number): void {
		if (network === this.#proxies) return;
		this.#ranks[before]?.delete(network);
		const now = network.waiting.size;
		if (now > 0) {
			this.#ranks[now] ??= new Set();
			this.#ranks[now].add(network);
		}
		if (now > this.#topRank) this.#topRank = now;
		else
			while (this.#topRank > 0 && !this.#ranks[this.#topRank]?.size)
				this.#topRank--;
	}
}

function networkNamed<Connection>(
	name: string | undefined,
): Network<Connection> {
	return { name, held: 0, waiting: new Set() };
}

/** How long a connection may wait for its next request: less, the more of the table is taken. */
export function keepAliveMs(usualMs: number, fill: number): number {
	const strain = Math.max(0, (fill - easyFill) / (1 - easyFill));
	const ms = usualMs - strain * (usualMs - leastKeepAliveMs);
	// `Keep-Alive: timeout` has whole seconds.
	return usualMs < leastKeepAliveMs ? usualMs : Math.floor(ms / 1000) * 1000;
}
