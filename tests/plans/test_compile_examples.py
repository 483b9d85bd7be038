"""The worked examples of the workflow language: nine workflows on concrete users, every call with every value."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.plans.compile import TRAXGEN, Settings, compile_user
from gpa.plans.outputs import written
from tests.plans.workflows import EMPLOYEE, NINE, ORDER, PRODUCT, TRAVELLER, gold, lines, tools, user, workflow

TIME_OFF = [
    "ask_for_pto_dates()",
    "get_pto_balance(employee_id=2709079)",
    "check_conflicts(start_date=2025-06-12, end_date=2025-06-27, pto_balance=9)",
    "submit_leave_request(employee_id=2709079, start_date=2025-06-12, end_date=2025-06-27)",
    "notify_manager(manager_id=7215773, leave_request_id=191059)",
    "send_confirmation(employee_id=2709079, leave_request_id=191059)",
    "close_case(leave_request_id=191059)",
]
SUSPENSION = [
    "ask_suspension_type()",
    "ask_suspension_reason()",
    "get_user_status(employee_id=2709079)",
    "ask_reactivation_date()",
    "suspend_account(employee_id=2709079, type=temporary, reason=Leave of Absence, reactivation_date=2025-06-03)",
    "send_suspension_confirmation(employee_id=2709079)",
    "close_case(suspension_id=601790)",
]
PERMANENT = [
    *SUSPENSION[:3],
    "suspend_account(employee_id=2709079, type=permanent, reason=Leave of Absence)",
    *SUSPENSION[5:],
]
ADDRESS = "12 Harbour Row, Leith"
NEW_ADDRESS = [
    "get_employment_details(employee_id=2709079)",
    f"validate_address(address={ADDRESS})",
    f"update_employee_address(employee_id=2709079, address={ADDRESS})",
    "notify_payroll(employee_id=2709079)",
    "check_contact_info(employee_id=2709079)",
    "complete_case(employee_id=2709079)",
]
CANCEL = [
    "get_customer_loyalty_info(customer_id=1802531)",
    "get_booking_details(customer_id=1802531)",
    "check_cancellation_policy(booking_id=555)",
    "calculate_cancellation_fee(booking_id=555)",
    "offer_alternate_flight_options(customer_id=1802531, original_booking_id=555)",
    "cancel_flight(booking_id=555)",
    "get_customer_payment_method(customer_id=1802531, booking_id=555)",
    "issue_travel_credit(customer_id=1802531, amount=420.0)",
    "complete_case(customer_id=1802531)",
]
REFUND = "process_refund(booking_id=555, payment_method=Card)"
LOYAL = [
    *CANCEL[:2],
    "waive_cancellation_fee(loyalty_points=10000, booking_id=555)",
    CANCEL[5],
    REFUND,
    CANCEL[8],
]
DISRUPTION = [
    "get_booking_details(customer_id=1802531)",
    "check_flight_status(flight_number=UA10, flight_date=2025-07-01)",
    (
        "notify_customer_disruption(customer_id=1802531, flight_number=UA10, status=Delayed, delay_reason=Weather,"
        " estimated_delay_minutes=400)"
    ),
    "ask_rebooking_preference(customer_id=1802531)",
    "search_alternate_flights(origin=SFO, destination=JFK, flight_date=2025-07-01, cabin_class=Economy)",
    "offer_flight_options_to_customer(customer_id=1802531, flights=['UA11'])",
    "create_rebooking(original_booking_id=555, new_flight_id=UA11)",
    "process_fare_difference(customer_id=1802531, fare_difference=0)",
    "check_overnight_need(estimated_delay_minutes=400)",
    "arrange_accommodation(customer_id=1802531)",
    "arrange_transport(customer_id=1802531, hotel_booking_id=77)",
    "issue_meal_vouchers(customer_id=1802531, delay=400)",
    "complete_case(customer_id=1802531)",
]
ON_TIME = [*DISRUPTION[:2], "notify_customer_disruption(customer_id=1802531, flight_number=UA10, status=On Time)"]
MECHANICAL = [
    DISRUPTION[0],
    DISRUPTION[5],
    DISRUPTION[6],
    DISRUPTION[9],
    DISRUPTION[10],
    "offer_compensation(customer_id=1802531, delay_reason=Mechanical, extra_miles=500)",
    "update_loyalty_points()",
    DISRUPTION[12],
]
CREW = [
    *DISRUPTION[:2],
    (
        "notify_customer_disruption(customer_id=1802531, flight_number=UA10, status=Delayed, delay_reason=Crew Issue,"
        " estimated_delay_minutes=120)"
    ),
    DISRUPTION[3],
    "check_overnight_need(estimated_delay_minutes=120)",
    "offer_compensation(customer_id=1802531, delay_reason=Crew Issue, extra_miles=500)",
    DISRUPTION[12],
]
SEARCH = (
    "(origin=SFO, destination=JFK, departure_date=2025-07-01, return_date=2025-07-09, cabin_preference=Economy,"
    " seat_preference=Aisle)"
)
BOOK = [
    "ask_for_basic_flight_details()",
    "get_customer_preferences(customer_id=1802531)",
    "get_customer_frequent_traveler_status(customer_id=1802531)",
    f"search_regular_flights{SEARCH}",
    "get_passport_visa_info(customer_id=1802531)",
    "check_visa_requirements(customer_id=1802531, destination=JFK)",
    "get_customer_payment_method(customer_id=1802531)",
    "create_booking(flight_number=UA10)",
    "complete_case(customer_id=1802531)",
]
GOLD_MEMBER = [
    *BOOK[:3],
    f"search_priority_flights{SEARCH}",
    BOOK[5],
    BOOK[6],
    "create_booking_with_points(flight_number=UA10)",
    "add_special_services(booking_id=555, service_type=Wheelchair)",
    "notify_airport_ground_team(customer_id=1802531, booking_id=555, service_type=Wheelchair)",
    BOOK[8],
]
STATUS = [
    "ask_for_order_id()",
    "get_order_status(order_id=63920)",
    "return_order_status(order_status=Delivered)",
    "close_case(order_id=63920)",
]
STOCK = [
    "ask_for_product_id()",
    "check_inventory(product_id=1001)",
    "return_product_availability(product_id=1001, availability=In Stock)",
    "close_case(customer_id=4100026)",
]
RECEIPT = [
    "ask_for_order_id()",
    "check_order_exists(order_id=63920)",
    "send_email_receipt(order_id=63920)",
    "complete_case(customer_id=4100018)",
]
ESCALATED = [*RECEIPT[:1], "check_order_exists(order_id=7)", "escalate_to_support(order_id=7)", RECEIPT[3]]


def swapped(lines: list[str], *starts: int) -> list[list[str]]:
    """The lines, with each pair that starts there in both orders; the last pair changes fastest."""
    made = [lines]
    for at in starts:
        made = [one for kept in made for one in (kept, [*kept[:at], kept[at + 1], kept[at], *kept[at + 2 :]])]
    return made


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(user(ORDER), [STATUS], id="order status"),
        pytest.param(user(PRODUCT), [STOCK], id="a number is the key of an object whose keys are text"),
        pytest.param(user(ORDER, "resend_email_receipt"), [RECEIPT], id="receipt: the order is the user's"),
        pytest.param(
            user(ORDER, "resend_email_receipt", user_provided_info__order_id=7), [ESCALATED], id="receipt: it is not"
        ),
        pytest.param(user(EMPLOYEE), swapped(TIME_OFF, 0), id="time off"),
        pytest.param(
            user(EMPLOYEE, vacation__pto_balance=0, conflict_status=True),
            swapped([*TIME_OFF[:2], "inform_employee_balance_low()"], 0),
            id="time off: no days left and a conflict, the earlier end counts",
        ),
        pytest.param(
            user(EMPLOYEE, conflict_status=True),
            swapped([*TIME_OFF[:3], "inform_employee_conflict()"], 0),
            id="time off: a conflict",
        ),
        pytest.param(user(EMPLOYEE, "account_suspension_request"), swapped(SUSPENSION, 0), id="suspension"),
        pytest.param(
            user(EMPLOYEE, "account_suspension_request", user_provided_info__suspension_type="permanent"),
            swapped(PERMANENT, 0),
            id="suspension: permanent",
        ),
        pytest.param(
            user(EMPLOYEE, "account_suspension_request", suspension__suspension_status="suspended"),
            swapped([*SUSPENSION[:3], "notify_already_suspended(employee_id=2709079)"], 0),
            id="suspension: already suspended",
        ),
        pytest.param(user(EMPLOYEE, "update_address"), [NEW_ADDRESS], id="address"),
        pytest.param(
            user(EMPLOYEE, "update_address", validation_status="invalid"),
            [[*NEW_ADDRESS[:2], "escalate_to_hr(employee_id=2709079)"]],
            id="address: invalid",
        ),
        pytest.param(
            user(EMPLOYEE, "update_address", employment_type="Contractor", has_contact_info=True),
            [
                [
                    *NEW_ADDRESS[:3],
                    NEW_ADDRESS[4],
                    "update_contact_info(employee_id=2709079, new_phone=6512227804)",
                    NEW_ADDRESS[5],
                ]
            ],
            id="address: no payroll, but a phone",
        ),
        pytest.param(user(TRAVELLER, "cancel_flight"), swapped(CANCEL, 0, 2), id="cancel"),
        pytest.param(
            user(TRAVELLER, "cancel_flight", booking_info__purchased_insurance=True),
            swapped([*CANCEL[:7], REFUND, CANCEL[8]], 0, 2),
            id="cancel: insured",
        ),
        pytest.param(
            user(TRAVELLER, "cancel_flight", user_provided_info__change_flight=True),
            swapped([*CANCEL[:5], "process_flight_change(old_booking_id=555)", CANCEL[8]], 0, 2),
            id="cancel: rather another flight",
        ),
        pytest.param(
            user(
                TRAVELLER, "cancel_flight", traveler_info__loyalty_points=10000, user_provided_info__change_flight=True
            ),
            swapped(LOYAL, 0),
            id="cancel: 10,000 points put another trajectory in the place of everything",
        ),
        pytest.param(user(TRAVELLER, "handle_flight_disruption"), swapped(DISRUPTION, 9), id="disruption"),
        pytest.param(
            user(TRAVELLER, "handle_flight_disruption", flight_info__status="On Time"), [ON_TIME], id="on time"
        ),
        pytest.param(
            user(
                TRAVELLER,
                "handle_flight_disruption",
                flight_info={"status": "Cancelled", "delay_reason": "Mechanical", "estimated_delay_minutes": 400},
                traveler_info__frequent_traveler_status="Platinum",
            ),
            swapped(MECHANICAL, 3),
            id="disruption: cancelled, mechanical, platinum",
        ),
        pytest.param(
            user(
                TRAVELLER,
                "handle_flight_disruption",
                flight_info={"status": "Delayed", "delay_reason": "Crew Issue", "estimated_delay_minutes": 120},
                traveler_info__frequent_traveler_status="Gold",
                user_provided_info__wants_rebook=False,
            ),
            [CREW],
            id="disruption: crew, two hours, gold, no other flight",
        ),
        pytest.param(user(TRAVELLER, "book_flight"), [BOOK], id="book"),
        pytest.param(
            user(
                TRAVELLER,
                "book_flight",
                traveler_info__frequent_traveler_status="Gold",
                traveler_info__special_assistance="Wheelchair",
                payment_method__payment_type="Points",
            ),
            [GOLD_MEMBER],
            id="book: gold, points, wheelchair",
        ),
        pytest.param(
            user(TRAVELLER, "book_flight", traveler_info__is_blacklisted=True), [BOOK[:6]], id="book: blacklisted"
        ),
    ],
)
def test_the_worked_examples_compile_to(record: dict[str, Any], expected: list[list[str]]) -> None:
    id_field = "customer_id" if "customer_id" in record else "employee_id"
    assert lines(compile_user(NINE, record, id_field=id_field)) == expected


def test_exactly_six_hours_of_delay_keep_what_less_than_six_hours_skip() -> None:
    for minutes, kept in ((359, 10), (360, 13)):
        record = user(TRAVELLER, "handle_flight_disruption", flight_info__estimated_delay_minutes=minutes)
        assert len(compile_user(NINE, record).trajectories[0]) == kept


def test_two_workflows_are_a_product_and_the_case_is_closed_once() -> None:
    found = compile_user(NINE, TRAVELLER)
    assert lines(found) == [[*BOOK[:8], *one] for one in swapped(CANCEL, 0, 2)]
    [first, *_] = written(found, ["traxgen"])["traxgen"]
    assert len(first) == 19
    assert first[0] == "agent: book_flight"
    assert first[9] == "agent: cancel_flight"
    open_twice = compile_user(NINE, TRAVELLER, settings=Settings(drop_intermediate_close=()))
    assert {len(one) for one in open_twice.trajectories} == {18}


@pytest.mark.parametrize("sequence", [("book_flight", "cancel_flight"), ("cancel_flight", "book_flight")])
def test_parameters_that_a_rule_overrides_are_kept_in_a_sequence_of_workflows(sequence: tuple[str, ...]) -> None:
    record = user(TRAVELLER, *sequence, "handle_flight_disruption", flight_info__status="On Time")
    for trajectory in lines(compile_user(NINE, record)):
        assert trajectory[-1] == ON_TIME[-1]


def test_soft_blocks_permute_the_positions_of_their_members_and_lose_nothing_between() -> None:
    assert tools(gold(workflow("a b c d", soft=[["a", "c"]]))) == [list("abcd"), list("cbad")]


def test_the_undeclared_tool_of_an_override_is_kept_dropped_or_an_error() -> None:
    record = user(
        TRAVELLER,
        "handle_flight_disruption",
        flight_info={"status": "Cancelled", "delay_reason": "Mechanical", "estimated_delay_minutes": 400},
    )
    kept = compile_user(NINE, record)
    assert "update_loyalty_points" in tools(kept)[0]
    assert kept.notes == (
        "handle_flight_disruption: update_loyalty_points is no step; kept in the overriding trajectory",
    )
    dropped = compile_user(NINE, record, settings=TRAXGEN)
    assert tools(dropped) == [[name for name in one if name != "update_loyalty_points"] for one in tools(kept)]
