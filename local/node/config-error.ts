/**
 * A container can't be started because of something that it refers to. The Pod waits with reason
 * `CreateContainerConfigError` and these words, and the start is tried again: what is missing may yet come.
 */
export class ConfigError extends Error {
	override name = "ConfigError";
}
