"""Splink (DuckDB) on the generated people: python splink_people.py people.parquet pairs.parquet

Rules that a good user would write: four blocking rules, comparisons from its library, u from random pairs, m by
expectation-maximisation in two passes; pairs at a match probability of 0.9 or more.
"""

from __future__ import annotations

import sys

import pyarrow.parquet as pq


def main() -> None:
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    source, target = sys.argv[1:3]
    table = pq.read_table(source).to_pandas().rename(columns={"id": "unique_id"})
    rules = [
        block_on("phone"), block_on("date_of_birth"), block_on("surname", "given_name"), block_on("street", "postcode"),
    ]  # fmt: skip
    comparisons = [
        cl.JaroWinklerAtThresholds("given_name"),
        cl.JaroWinklerAtThresholds("surname"),
        cl.LevenshteinAtThresholds("date_of_birth", [1, 2]),
        cl.LevenshteinAtThresholds("phone", [1, 2]),
        cl.JaroWinklerAtThresholds("street"),
        cl.ExactMatch("town").configure(term_frequency_adjustments=True),
        cl.LevenshteinAtThresholds("postcode", 1),
    ]
    settings = SettingsCreator(
        link_type="dedupe_only", blocking_rules_to_generate_predictions=rules, comparisons=comparisons
    )
    linker = Linker(DuckDBAPI().register(table), settings)
    linker.training.estimate_probability_two_random_records_match(rules[:1], recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("date_of_birth"))
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("phone"))
    made = linker.inference.predict(threshold_match_probability=0.9).as_pandas_dataframe()
    import pyarrow as pa

    pq.write_table(pa.table({"left": made["unique_id_l"].to_numpy(), "right": made["unique_id_r"].to_numpy()}), target)


if __name__ == "__main__":
    main()
