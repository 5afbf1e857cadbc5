import { tryKills } from "./load-crashes-cases.ts";

tryKills();
