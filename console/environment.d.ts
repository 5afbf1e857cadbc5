/** The name of the build, as the API names the one that it serves. `dev` on the dev server. */
declare const __CONSOLE_BUILD__: string;
