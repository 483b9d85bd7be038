"""What a call adds to the conversation so far: laws over any conversations, and the cases producers make."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpa.ingest.dialects.call import Message
from gpa.ingest.history import Histories, Placement, Run, rebuild

LONG = "a sentence that is long enough to be recognised whatever its role says it is"


def user(text: str) -> Message:
    return Message("user", text)


def said(text: str) -> Message:
    return Message("assistant", text)


def system(text: str) -> Message:
    return Message("system", text)


def call(name: str, call_id: str = "", **arguments: object) -> Message:
    return Message("assistant", tool_name=name, tool_call_id=call_id, arguments=arguments)


class Conversation:
    """Places calls one after the other, as `flatten` does, and remembers what it needs to rebuild them."""

    def __init__(self) -> None:
        self.histories = Histories()
        self.whole: dict[str, tuple[Message, ...]] = {}
        self.clock = 0

    def place(
        self,
        given_input: list[Message],
        output: list[Message],
        agent: str = "desk",
        instructions: tuple[Message, ...] = (),
        at: tuple[int, int] | None = None,
    ) -> Placement:
        label = f"s{len(self.whole) + 1}"
        leading = next((i for i, message in enumerate(given_input) if message.role != "system"), len(given_input))
        self.clock += 10
        start_ns, end_ns = at or (self.clock, self.clock + 5)
        placement = self.histories.place(
            label,
            agent,
            self.histories.numbers(given_input),
            self.histories.numbers(output),
            leading=leading,
            system=tuple(self.histories.numbers(instructions)),
            start_ns=start_ns,
            end_ns=end_ns,
        )
        rebuilt = rebuild(placement.history, placement.messages, placement.restated, instructions, self.whole)
        assert rebuilt == tuple(given_input)
        self.whole[label] = rebuilt + tuple(output)
        return placement


TEXTS = st.sampled_from(["yes", "no", "go on", LONG, LONG + "<stop>", f" {LONG}\n", ""])
MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["user", "assistant", "system", "tool"]), TEXTS),
    st.builds(
        lambda name, key, value: Message("assistant", tool_name=name, tool_call_id=key, arguments=value),
        st.sampled_from(["look", "book"]),
        st.sampled_from(["", "c1"]),
        st.one_of(st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), max_size=2), st.just("{broken")),
    ),
)
CALLS = st.tuples(
    st.sampled_from(["desk", "clerk"]), st.lists(MESSAGES, max_size=7), st.lists(MESSAGES, max_size=2), st.booleans()
)


@settings(max_examples=300, deadline=None)
@given(st.lists(CALLS, max_size=8))
def test_whatever_agents_send_every_input_can_be_rebuilt(
    calls: list[tuple[str, list[Message], list[Message], bool]],
) -> None:
    """`Conversation.place` asserts it: rebuilt input == recorded input, with histories cut, mixed and repeated."""
    conversation = Conversation()
    before: list[Message] = []
    for agent, messages, output, goes_on in calls:
        given_input = [*before, *messages] if goes_on else messages
        conversation.place(given_input, output, agent=agent, instructions=(system("be brief"),))
        before = [*given_input, *output]


@given(
    st.lists(
        st.tuples(st.lists(MESSAGES.filter(lambda m: m.role != "system"), min_size=1, max_size=4), MESSAGES), max_size=6
    )
)
def test_a_conversation_that_only_grows_shows_each_message_once_and_every_repeat(
    turns: list[tuple[list[Message], Message]],
) -> None:
    """The new messages of the calls, one after the other, are exactly what was said, repeats included."""
    conversation = Conversation()
    history: list[Message] = []
    for news, answer in turns:
        placement = conversation.place([*history, *news], [answer])
        assert placement.messages == tuple(news)
        assert placement.left_out == 0
        history = [*history, *news, answer]


def test_the_second_yes_of_a_user_stays() -> None:
    conversation = Conversation()
    start = [user("book it?"), user("yes")]
    conversation.place(start, [said("which day?")])
    assert conversation.place([*start, said("which day?"), user("yes")], [said("?")]).messages == (user("yes"),)


def test_an_output_that_comes_back_with_a_stop_word_is_history() -> None:
    conversation = Conversation()
    conversation.place([user("go")], [said(LONG)])
    placement = conversation.place([user("go"), said(LONG + "<end_code>"), user("next")], [said("ok")])
    assert placement.messages == (user("next"),)
    assert placement.restated == ((1, said(LONG + "<end_code>")),)


def test_a_call_that_comes_back_with_an_id_is_history() -> None:
    conversation = Conversation()
    conversation.place([user("go")], [call("look", city="Oslo")])
    answer = Message("tool", "rain", tool_call_id="c1")
    placement = conversation.place([user("go"), call("look", "c1", city="Oslo"), answer], [said("rain")])
    assert placement.messages == (answer,)


def test_a_trimmed_history_says_how_much_is_gone() -> None:
    conversation = Conversation()
    turns = [message for n in range(4) for message in (user(f"question number {n}"), said(f"answer number {n}"))]
    conversation.place(turns[:7], [turns[7]])
    placement = conversation.place([*turns[4:8], user("and now?")], [said("fine")])
    assert placement.messages == (user("and now?"),)
    assert placement.left_out == 4
    assert placement.history == (Run("s1", 4, 8), Run("", 0, 1))


def test_a_summary_in_place_of_old_turns_is_new_and_the_rest_is_history() -> None:
    conversation = Conversation()
    turns = [message for n in range(4) for message in (user(f"question number {n}"), said(f"answer number {n}"))]
    conversation.place(turns[:7], [turns[7]])
    summary = user("summary of what was said before")
    placement = conversation.place([turns[0], summary, *turns[6:8], user("go on")], [said("fine")])
    assert placement.messages == (summary, user("go on"))
    assert placement.left_out == 5


def test_a_call_that_comes_back_as_text_of_the_framework_is_not_left_out() -> None:
    conversation = Conversation()
    conversation.place([user("go")], [said(LONG), call("look", city="Oslo")])
    restated = Message("tool-call", "Calling tools: [{'name': 'look', 'arguments': {'city': 'Oslo'}}]")
    placement = conversation.place([user("go"), said(LONG), restated], [said("rain")])
    assert placement.messages == (restated,)
    assert placement.left_out == 0


def test_a_hand_off_with_other_instructions_keeps_the_conversation() -> None:
    conversation = Conversation()
    conversation.place(
        [system("triage"), user("refund please")], [said("passing you on")], "triage", (system("triage"),)
    )
    handed = [system("refunds"), user("refund please"), said("passing you on")]
    placement = conversation.place(handed, [said("done")], "refunds", (system("refunds"),))
    assert placement.messages == ()
    assert placement.history == (Run("@", 0, 1), Run("s1", 1, 3))


def test_the_same_task_given_to_two_sub_agents_is_given_twice() -> None:
    conversation = Conversation()
    conversation.place([user("find flights")], [said("none")], agent="searcher")
    assert conversation.place([user("find flights")], [said("none")], agent="searcher#2").messages == (
        user("find flights"),
    )


def test_the_same_instructions_are_not_told_again() -> None:
    conversation = Conversation()
    told = (system("be brief"),)
    first = conversation.place([*told, user("hi")], [said("hello")], instructions=told)
    assert first.messages == (user("hi"),)
    assert first.history == (Run("@", 0, 1), Run("", 0, 1))


def test_a_prompt_of_its_own_is_not_a_shortened_history() -> None:
    conversation = Conversation()
    conversation.place([user("task")], [said("working on it")])
    placement = conversation.place([user("now write down a plan for something else")], [said("1. do")])
    assert (placement.history, placement.left_out) == ((), 0)


def test_parallel_branches_compare_with_what_they_have_in_common() -> None:
    """The second branch started while the first was still running: the first one's turns were not dropped by it."""
    conversation = Conversation()
    conversation.place([user("compare A and B")], [said("two searches")], at=(1, 2))
    common = [user("compare A and B"), said("two searches")]
    conversation.place([*common, user("look at A")], [said("A is red")], at=(3, 9))
    branch = conversation.place([*common, user("look at B")], [said("B is blue")], at=(4, 8))
    assert branch.messages == (user("look at B"),)
    assert branch.left_out == 0


@pytest.mark.parametrize(
    ("again", "same"),
    [
        pytest.param({"b": 1, "a": [2]}, True, id="other-key-order"),
        pytest.param({"a": [2], "b": 2}, False, id="other-value"),
        pytest.param('{"a":[2],"b":1}', False, id="text-is-not-an-object"),
    ],
)
def test_arguments_are_equal_as_values(again: object, same: bool) -> None:
    histories = Histories()
    one = Message("assistant", tool_name="look", arguments={"a": [2], "b": 1})
    other = Message("assistant", tool_name="look", arguments=again)
    assert (histories.numbers([one]) == histories.numbers([other])) is same


def test_arguments_nested_beyond_every_encoder_still_compare() -> None:
    def nested(leaf: int) -> object:
        value: object = leaf
        for _ in range(5_000):
            value = [value]
        return value

    histories = Histories()
    messages = [Message("assistant", tool_name="look", arguments=nested(leaf)) for leaf in (1, 1, 2)]
    assert histories.numbers(messages) == [0, 0, 1]


def test_a_branch_continues_its_own_ancestor_not_the_last_call() -> None:
    conversation = Conversation()
    for answer in ("first A", "first B", "first C"):
        conversation.place([user("question")], [said(answer)])
    for answer in ("first A", "first B", "first C"):
        placement = conversation.place([user("question"), said(answer), user(f"go on from {answer}")], [said("done")])
        assert placement.messages == (user(f"go on from {answer}"),)
