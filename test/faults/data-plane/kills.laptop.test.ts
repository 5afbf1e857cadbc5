import { oneKillEach } from "./kills-cases.ts";

oneKillEach();
