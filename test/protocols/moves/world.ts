/** All there is in the simulation, as one plain value: one Source, that moves from shard 0 to shard 1. */
export interface World {
	/** The Source's shards in its Secret, the newest last. Kubernetes refuses a write to what has changed. */
	secret: number[];
	/** Its shards in NATS. */
	shards: number[];
	/** Of that entry in NATS. Each write has the next one. */
	revision: number;
	/** What a server of NATS that isn't the leader may still answer. */
	earlierShards: number[];
	/** The shard that receive writes to, in the routes bucket. */
	route: number;
	/** By NATS's clock: of the date, after its midnight, and once it can gain no more events. */
	time: "date" | "midnight" | "closed";
	operators: Operator[];
	receivers: Receiver[];
	/** By shard, the events whose frames are stored. All were acknowledged. */
	streams: string[][];
	/** Of shard 0, which were handed over to shard 1 when it was drained: only in a protocol that does so. */
	handedOver: string[] | undefined;
	runs: Run[];
	/** What the table holds of the date, and whether it was closed by then. */
	table: { events: string[]; isClosed: boolean };
	events: number;
	eventsLeft: number;
	runsLeft: number;
	crashesLeft: number;
	/** What a Run got wrong. */
	wrong?: string;
}

/** Moves the Source, or is the one that led before and knows nothing of the move. */
export interface Operator {
	at: "secret" | "read" | "shards" | "route" | "done";
	target: number;
	/** The shards that it read in NATS, until it has written them. */
	read?: { shards: number[]; revision: number };
}

export interface Receiver {
	/** The shard of the route that it has read. */
	knows: number;
	/** An event on its way to that shard, of the date. */
	sending?: { event: string; shard: number };
}

export interface Run {
	at: "shards" | "flush" | "end";
	/** Acknowledged before it began. */
	due: string[];
	/** Still to be flushed. */
	left: number[];
	found: string[];
	time: World["time"];
}
