import { expect, test } from "vitest";
import { baseEnvironment } from "../machine/program.ts";
import { natsConfigText } from "./nats.ts";
import { s3 } from "./s3.ts";

const passwords = {
	admin: "p-admin",
	receive: "p-receive",
	archive: "p-archive",
	operator: "p-operator",
	api: "p-api",
	notify: "p-notify",
};

test("NATS syncs every write and listens only on the loopback", () => {
	const config = JSON.parse(
		natsConfigText({ port: 1, storeDirectory: "/s", passwords }),
	);
	expect(config.jetstream.sync_interval).toBe("always");
	expect(config.listen).toBe("127.0.0.1:1");
});

test("the S3 gateway's key is in its environment, not in its arguments", () => {
	const program = s3({
		command: "versitygw",
		port: 1,
		directory: "/d",
		accessKeyId: "id",
		secretAccessKey: "hush",
	});
	expect(program.args.join(" ")).not.toContain("hush");
	expect(program.env.ROOT_SECRET_KEY).toBe("hush");
});

test("a child inherits nothing that leads to other servers", () => {
	expect(
		baseEnvironment({ PATH: "/bin", KUBECONFIG: "x", AWS_PROFILE: "prod" }),
	).toEqual({ PATH: "/bin" });
});
