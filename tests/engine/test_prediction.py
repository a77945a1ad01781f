"""What AUTO chooses by: the cost at first, then what runs really took."""

from __future__ import annotations

import pytest

from adalog.executor.prediction import ClusterCapacity, EstimatedWork, Prediction
from adalog.planner.model.plan import Engine as Place

SIXTEEN = ClusterCapacity(cores=16, tasks=96, idle_seconds=0.35)
QUERY = "[:find ?a ?b ?c :where …]"


def work(cost: float, rows: float = 1.0, text: str = QUERY) -> EstimatedWork:
    return EstimatedWork(text, cost, rows)


def on_spark(prediction: Prediction, asked: EstimatedWork) -> float:
    return sum(prediction._parts(asked, SIXTEEN))


def test_little_work_stays_here() -> None:
    prediction = Prediction(2)
    said = prediction.small(work(1e5))
    assert said is not None
    assert "too little for Spark" in said
    assert prediction.small(work(1e9)) is None


@pytest.mark.parametrize(
    ("cost", "rows", "cluster", "place"),
    [
        (1e9, 1, SIXTEEN, Place.SPARK),
        (1e7, 1, SIXTEEN, Place.LOCAL),
        (1e9, 1, ClusterCapacity(2, 12, 0.1), Place.LOCAL),
        (1e9, 1, ClusterCapacity(3, 18, 60.0), Place.LOCAL),
        # What is computed there has to come back.
        (1e9, 5e8, SIXTEEN, Place.LOCAL),
    ],
)
def test_cores_the_way_there_and_the_rows_decide(
    cost: float, rows: float, cluster: ClusterCapacity, place: Place
) -> None:
    chosen, why = Prediction(2).choose(work(cost, rows), cluster)
    assert chosen is place
    assert f"on {cluster.cores} cores" in why
    assert "here on 2 threads" in why
    assert f"{rows:,.0f} rows" in why


def test_what_a_query_took_counts_for_it_most() -> None:
    prediction = Prediction(2)
    assert prediction.small(work(1e5)) is not None
    prediction.learn(Place.LOCAL, work(1e5), 30.0)
    assert prediction.small(work(1e5)) is None
    chosen, why = prediction.choose(work(1e5), SIXTEEN)
    assert chosen is Place.SPARK
    assert "by 1 earlier run" in why
    # Another query is little surer of it.
    assert prediction.small(work(1e5, text="another")) is not None
    # On Spark it turns out to be no better: what was believed of that gives way.
    for _ in range(6):
        prediction.learn(Place.SPARK, work(1e5), 60.0, SIXTEEN)
    assert prediction.choose(work(1e5), SIXTEEN)[0] is Place.LOCAL


def test_what_runs_here_took_counts_for_spark_until_one_ran_there() -> None:
    """A busy machine made all queries seem slow here, and Spark of as many cores seem fast."""
    prediction, two = Prediction(2), ClusterCapacity(cores=2, tasks=12, idle_seconds=0.1)
    for number in range(50):
        prediction.learn(Place.LOCAL, work(1e7, text=str(number)), 5.0)
    assert prediction.here(work(6e7)) > 20
    assert prediction.choose(work(6e7), two)[0] is Place.LOCAL
    assert prediction.choose(work(6e7), SIXTEEN)[0] is Place.SPARK
    for number in range(50):
        prediction.learn(Place.SPARK, work(1e8, text=f"there {number}"), 5.0, two)
    assert prediction.choose(work(6e7), two)[0] is Place.SPARK


def test_predictions_come_to_what_runs_take() -> None:
    prediction = Prediction(2)
    for _ in range(8):
        prediction.learn(Place.LOCAL, work(1e8), 2.0)
        prediction.learn(Place.SPARK, work(1e8), 0.9, SIXTEEN)
    assert prediction.here(work(1e8)) == pytest.approx(2.0, rel=0.05)
    assert on_spark(prediction, work(1e8)) == pytest.approx(0.9, rel=0.05)
    assert prediction.here(work(2e8)) == pytest.approx(4.0, rel=0.05)


def test_what_the_way_to_spark_takes_is_learned_from_every_query() -> None:
    prediction = Prediction(2)
    before = on_spark(prediction, work(1e8))
    # A session that is warm by now does nothing in less time.
    for number in range(12):
        prediction.learn(Place.SPARK, work(1e8, text=str(number)), 0.77, SIXTEEN, 0.72)
    assert on_spark(prediction, work(0.0)) == pytest.approx(0.05, rel=0.1)
    assert on_spark(prediction, work(1e8)) < before - 0.2


def test_moments_teach_nothing_and_no_run_teaches_nonsense() -> None:
    prediction = Prediction(2)
    prediction.learn(Place.LOCAL, work(1e9), 0.001)
    assert prediction.here(work(1e9)) == Prediction(2).here(work(1e9))
    prediction.learn(Place.LOCAL, work(0.0, text="another"), 1e6)
    assert prediction.here(work(1e9)) < 64 * Prediction(2).here(work(1e9))


def test_what_is_remembered_is_bounded() -> None:
    prediction = Prediction(2)
    for number in range(3000):
        prediction.learn(Place.LOCAL, work(1e6, text=str(number)), 1.0)
    assert len(prediction._own) <= 1024
