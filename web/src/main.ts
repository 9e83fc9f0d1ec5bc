import { mount } from "svelte";
import "./page.css";
import Page from "./Page.svelte";
import { use } from "./state/api";
import { server } from "./state/server";

// Until here the name alone was to be seen, drawn before any script ran.
const target = document.getElementById("page")!;
target.replaceChildren();
use(server);
mount(Page, { target });
