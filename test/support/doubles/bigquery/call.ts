import type { IncomingMessage } from "node:http";
import type { Buckets } from "./buckets.ts";
import type { Jobs } from "./jobs.ts";
import type { Permissions } from "./permissions.ts";
import type { Uploads } from "./uploads.ts";
import type { Warehouse } from "./warehouse.ts";

/** What the routes of the double work on. */
export interface Api {
	warehouse: Warehouse;
	buckets: Buckets;
	jobs: Jobs;
	uploads: Uploads;
	permissions: Permissions;
}

export interface Call {
	request: IncomingMessage;
	url: URL;
	body: Buffer;
}

export interface Answer {
	status: number;
	body?: object;
	headers?: Record<string, string>;
}

export function jsonOf({ body }: Call) {
	return JSON.parse(body.toString());
}
