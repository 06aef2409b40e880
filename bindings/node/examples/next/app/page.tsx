"use client";
// Asks the agent, and shows its answer while it is written.
import { useState } from "react";

export default function Page() {
  const [answer, setAnswer] = useState("");

  function ask(form: FormData) {
    setAnswer("");
    const question = encodeURIComponent(String(form.get("question")));
    const events = new EventSource(`/api/agent?question=${question}`);
    events.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "text") setAnswer((text) => text + event.text);
      if (event.type === "run_finished") events.close();
    };
    events.onerror = () => events.close();
  }

  return (
    <form action={ask}>
      <input name="question" aria-label="Question" required />
      <button>Ask</button>
      <p aria-live="polite">{answer}</p>
    </form>
  );
}
