import { randomBytes } from "node:crypto";

/** 192 random bits as text that needs no quotes in URLs, settings and configurations. */
export function randomPassword(): string {
	return randomBytes(24).toString("hex");
}
