import { mount } from "svelte";
import "./page.css";
import Page from "./Page.svelte";

// Until here the name alone was to be seen, drawn before any script ran.
const target = document.getElementById("page")!;
target.replaceChildren();
mount(Page, { target });
